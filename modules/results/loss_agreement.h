// How far the losses of two groups of runs agree that compute the same function from the same weights on the same
// batches: the check that a comparison of times compares one work. Rounding alone makes them differ, and training
// spreads what rounding began. An epoch that was cut short counts nowhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "results/run_record.h"

namespace rnnlab {

// Of train_loss, epoch by epoch, in all pairs of runs with equal seeds.
struct LossAgreement {
  int64_t num_epochs = 0;         // that the pair has which differs most
  double largest_difference = 0;  // over the larger of the two losses' magnitudes
  int64_t epoch = 0;              // where it is
  double first_difference = 0;    // of the first epoch: training spreads what rounding began

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("num_epochs", self.num_epochs);
    field("largest_difference", self.largest_difference);
    field("epoch", self.epoch);
    field("first_difference", self.first_difference);
  }
};

// Nothing where no two runs of one seed have the same data, order, batch size, model, initial weights and training
// settings.
std::optional<LossAgreement> loss_agreement(const RunGroup& baseline, const RunGroup& group);

// "agree to 6 digits in the first epoch, agree to 4 digits over 50 epochs (largest relative difference 2.1e-05, at
// epoch 37)", "are equal over 50 epochs".
std::string agreement_text(const LossAgreement& agreement);

// The losses of one epoch of two runs, where they are further apart than rounding explains.
struct PartingLosses {
  const RunRecord *first_run, *second_run;
  int64_t epoch = 0;
  double first = 0, second = 0;
};

// Of two groups at one precision, and not where dropout draws other masks: on a CPU and a GPU, or by two kinds of
// convolution. Any of these is more than rounding:
// - the first epoch, of at most 50 updates, parts by more than 0.1 % in fp32, 1 % in tf32 and fp16, 2 % in bf16;
// - the first epoch, of at most 100 updates, parts by more than ten times that, or by more than a fifth;
// - the first epoch, of more updates, parts by more than a fifth, for training spreads what rounding began;
// - all of at least five epochs part by one factor, above the bound of the precision and five times its deviation;
// - half of the later epochs part by more than a half, to one side. Losses below a hundredth of the first epoch's do
//   not count there: rounding leaves little of them.
std::optional<PartingLosses> parting_losses(const RunGroup& baseline, const RunGroup& group);

// The first epoch in which two runs of one group and one seed differ at all, though `deterministic` is on.
std::optional<PartingLosses> unequal_repeats(const RunGroup& group);

}  // namespace rnnlab
