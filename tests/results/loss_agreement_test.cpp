// SPDX-License-Identifier: Apache-2.0
#include "results/loss_agreement.h"
#include "golden.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rnnlab {
namespace {

RunRecord run_with(const std::vector<double>& losses, int64_t seed = 1) {
  RunRecord run;
  run.summary.seed = seed;
  run.summary.epochs = std::ssize(losses);
  for (const double loss : losses) run.rows.push_back({.epoch = std::ssize(run.rows) + 1, .train_loss = loss});
  return run;
}

std::optional<LossAgreement> agreement(const std::vector<RunRecord>& baseline, const std::vector<RunRecord>& others) {
  RunGroup first, second;
  for (const RunRecord& run : baseline) first.runs.push_back(&run);
  for (const RunRecord& run : others) second.runs.push_back(&run);
  return loss_agreement(first, second);
}

std::string text_of_agreement(const std::vector<double>& first, const std::vector<double>& second) {
  return agreement_text(agreement({run_with(first)}, {run_with(second)}).value());
}

TEST(LossAgreement, CountsTheDigitsOfTheWorstEpoch) {
  expect_golden(text_of_agreement({1, 0.5, 0.25}, {1.000003, 0.500002, 0.25}));
  expect_golden(text_of_agreement({-4}, {-3.8}));
}

TEST(LossAgreement, LeavesOutAnEpochThatWasCutShort) {
  RunRecord whole = run_with({1, 0.5, 0.25}), cut = run_with({1, 0.5, 0.4});
  cut.summary.epochs = 2;
  EXPECT_EQ(agreement({whole}, {cut})->num_epochs, 2);
  EXPECT_EQ(agreement({whole}, {cut})->largest_difference, 0);
}

TEST(LossAgreement, NamesTheFirstEpochIfItAgreesBetter) {
  expect_golden(text_of_agreement({1, 0.5, 0.25}, {1.000003, 0.51, 0.25}));
  expect_golden(text_of_agreement({1, 0.5}, {1, 0.500001}));
}

TEST(LossAgreement, SaysEqualAndNotAtAll) {
  EXPECT_EQ(text_of_agreement({1, 0.5}, {1, 0.5}), "are equal over 2 epochs");
  expect_golden(text_of_agreement({1, 0.5}, {1.25, 0.5}));
  expect_golden(text_of_agreement({1}, {std::nan("")}));
}

TEST(LossAgreement, LooksAtTheEpochsThatBothHave) {
  EXPECT_EQ(agreement({run_with({1, 0.5, 0.1})}, {run_with({1, 0.5})})->num_epochs, 2);
}

TEST(LossAgreement, TakesTheWorstOfTheSeedsThatBothHave) {
  const auto found = agreement({run_with({1}, 1), run_with({2}, 2)}, {run_with({1}, 1), run_with({2.02}, 2)});
  EXPECT_NEAR(found->largest_difference, 0.02 / 2.02, 1e-12);
  EXPECT_EQ(agreement({run_with({1}, 1)}, {run_with({1}, 2)}), std::nullopt);
}

TEST(LossAgreement, IsOfTheSameWorkOnly) {
  for (std::string Identity::*part : {&Identity::data_fingerprint, &Identity::order_sha256, &Identity::model_hash,
                                      &Identity::training_hash, &Identity::initial_weights_sha256}) {
    RunRecord other = run_with({1});
    other.summary.identity.*part = "another";
    EXPECT_EQ(agreement({run_with({1})}, {other}), std::nullopt);
  }
}

// ---- differing losses ----

std::optional<int64_t> parting_epoch(const std::vector<double>& first, const std::vector<double>& second,
                                     const std::string& precision = "fp32") {
  RunRecord a = run_with(first), b = run_with(second);
  a.summary.identity.precision = b.summary.identity.precision = precision;
  RunGroup baseline, group;
  baseline.runs = {&a};
  group.runs = {&b};
  const auto parting = differing_losses(baseline, group);
  if (!parting) return std::nullopt;
  return parting->epoch;
}

TEST(DifferingLosses, AreHeldAgainstTheBoundOfTheirPrecision) {
  struct Bound {
    const char* precision;
    double most;
  };
  for (const auto& [precision, most] : {Bound{"fp32", 1e-3}, {"tf32", 1e-2}, {"fp16", 1e-2}, {"bf16", 2e-2}}) {
    EXPECT_EQ(parting_epoch({1}, {1 - 0.9 * most}, precision), std::nullopt) << precision;
    EXPECT_EQ(parting_epoch({1}, {1 - 1.1 * most}, precision), 1) << precision;
  }
}

// Returns whether losses of 1 and `other` in a first epoch of this number of updates are reported.
bool part_after(double num_updates, double other) {
  RunRecord a = run_with({1}), b = run_with({other});
  for (RunRecord* run : {&a, &b}) {
    run->summary.identity.precision = "fp32";
    run->summary.identity.batch_size = 16;
    run->rows[0].train_seconds = 1;
    run->rows[0].samples_per_second = 16 * num_updates;
  }
  RunGroup baseline, group;
  baseline.runs = {&a};
  group.runs = {&b};
  return differing_losses(baseline, group).has_value();
}

// Losses of five layers on MNIST rows in float32 differed by 6e-7 after 50 updates, and by 5e-3 after 75. In 500
// updates with a learning rate of 0.02, two layers of one function differed by 5 %.
TEST(DifferingLosses, MayGrowApartWithinAnEpochOfManyUpdates) {
  EXPECT_TRUE(part_after(50, 0.995));
  EXPECT_FALSE(part_after(75, 0.995));
  EXPECT_TRUE(part_after(75, 0.98));
  EXPECT_FALSE(part_after(500, 0.9));
  EXPECT_TRUE(part_after(500, 0.7));
}

TEST(DifferingLosses, AreOfWholeEpochsOnly) {
  RunRecord whole = run_with({1}), cut = run_with({1.3});
  cut.summary.epochs = 0;
  RunGroup baseline, group;
  baseline.runs = {&whole};
  group.runs = {&cut};
  EXPECT_FALSE(differing_losses(baseline, group));
  cut.summary.epochs = 1;
  EXPECT_TRUE(differing_losses(baseline, group));
}

TEST(DifferingLosses, HaveNoOneFactor) {
  const std::vector<double> losses = {1, 0.8, 0.6, 0.5, 0.45};
  std::vector<double> higher;
  for (const double loss : losses) higher.push_back(1.0009 * loss);
  EXPECT_EQ(parting_epoch(losses, higher), std::nullopt) << "less than the bound";
  for (double& loss : higher) loss *= 1.04;
  EXPECT_EQ(parting_epoch(losses, higher), 1);
}

TEST(DifferingLosses, MayGrowApart) {
  EXPECT_EQ(parting_epoch({1, 0.5, 0.2, 0.06}, {1, 0.5001, 0.21, 0.08}), std::nullopt);
  EXPECT_EQ(parting_epoch({1, 0.5, 0.2, 0.3, 0.2}, {1, 0.5, 0.5, 0.2, 0.21}), std::nullopt) << "one bad epoch";
  EXPECT_EQ(parting_epoch({1, 0.5, 0.2, 0.3, 0.2, 0.2}, {1, 0.9, 0.1, 0.6, 0.1, 0.2}), std::nullopt) << "both ways";
  EXPECT_EQ(parting_epoch({1, 1e-3, 1e-4}, {1, 2e-3, 9e-4}), std::nullopt) << "little is left";
}

TEST(DifferingLosses, DoNotStayApart) {
  EXPECT_EQ(parting_epoch({1, 0.5, 0.25, 0.2}, {1, 1.0, 0.5, 0.4}), 2);
  EXPECT_EQ(parting_epoch({1, 0.5, 0.25, 0.2}, {1, 0.5, 0.5, 0.4}), 3);
  EXPECT_EQ(parting_epoch({1, 1.0, 0.5, 0.4}, {1, 0.5, 0.25, 0.2}), 2);
}

TEST(DifferingLosses, OfDeterministicRunsAreAnyAtAll) {
  RunRecord a = run_with({1, 0.5}), b = run_with({1, 0.5000001});
  RunGroup group;
  group.runs = {&a, &b};
  EXPECT_FALSE(unequal_repeated_losses(group)) << "not deterministic";
  a.config["deterministic"] = b.config["deterministic"] = "true";
  EXPECT_EQ(unequal_repeated_losses(group).value().epoch, 2);
  b.rows[1].train_loss = 0.5;
  EXPECT_FALSE(unequal_repeated_losses(group));
}

}  // namespace
}  // namespace rnnlab
