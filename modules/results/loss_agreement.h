// SPDX-License-Identifier: Apache-2.0
// LossAgreement measures how far the losses of two groups of runs agree if both groups compute the same function from
// the same weights on the same batches. This checks that a comparison of times compares the same work. Rounding alone
// makes the losses differ, and training amplifies the differences. An interrupted epoch does not count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/fields.h"
#include "results/run_record.h"

namespace rnnlab {

// The values are of train_loss, epoch by epoch, in all pairs of runs with equal seeds.
struct LossAgreement {
  int64_t num_epochs = 0;         // epochs of the pair that differs most
  double largest_difference = 0;  // relative to the larger of the two losses' magnitudes
  int64_t epoch = 0;              // epoch of the largest difference
  double first_difference = 0;    // in the first epoch, before training amplifies rounding

  RNNLAB_FIELDS(num_epochs, largest_difference, epoch, first_difference)
};

// Returns nothing if no two runs of one seed have the same data, order, batch size, model, initial weights and training
// settings.
std::optional<LossAgreement> loss_agreement(const RunGroup& baseline, const RunGroup& group);

// Returns a text such as "agree to 6 digits in the first epoch, agree to 4 digits over 50 epochs (largest relative
// difference 2.1e-05, at epoch 37)" or "are equal over 50 epochs".
std::string agreement_text(const LossAgreement& agreement);

// The losses of one epoch of two runs, which differ by more than rounding explains.
struct DifferingLosses {
  const RunRecord *first_run, *second_run;
  int64_t epoch = 0;
  double first = 0, second = 0;
};

// Compares two groups of one precision. Returns nothing if dropout may draw different masks: on a CPU and a GPU, or
// with two kinds of convolution. Each of these differences is more than rounding:
// - the first epoch, of at most 50 updates, differs by more than 0.1 % in fp32, 1 % in tf32 and fp16, 2 % in bf16;
// - the first epoch, of at most 100 updates, differs by more than ten times these bounds, or by more than a fifth;
// - the first epoch, of more updates, differs by more than a fifth, because training amplifies rounding;
// - all of at least five epochs differ by one factor, above the bound of the precision and five times its deviation;
// - half of the later epochs differ by a factor of more than 1.5 in one direction. Losses below a hundredth of the
//   first epoch's do not count there, because rounding affects most of their digits.
std::optional<DifferingLosses> differing_losses(const RunGroup& baseline, const RunGroup& group);

// Returns the first epoch in which two runs of one group and one seed differ at all although `deterministic` is on.
std::optional<DifferingLosses> unequal_repeated_losses(const RunGroup& group);

}  // namespace rnnlab
