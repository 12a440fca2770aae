#include "results/loss_agreement.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rnnlab {
namespace {

RunRecord run_with(const std::vector<double>& losses, int64_t seed = 1) {
  RunRecord run;
  run.summary.seed = seed;
  for (const double loss : losses) run.rows.push_back({.epoch = std::ssize(run.rows) + 1, .train_loss = loss});
  return run;
}

std::optional<LossAgreement> agreement(const std::vector<RunRecord>& baseline, const std::vector<RunRecord>& others) {
  RunGroup first, second;
  for (const RunRecord& run : baseline) first.runs.push_back(&run);
  for (const RunRecord& run : others) second.runs.push_back(&run);
  return loss_agreement(first, second);
}

std::string told(const std::vector<double>& first, const std::vector<double>& second) {
  return agreement_text(agreement({run_with(first)}, {run_with(second)}).value());
}

TEST(LossAgreement, CountsTheDigitsOfTheWorstEpoch) {
  EXPECT_EQ(told({1, 0.5, 0.25}, {1.000003, 0.500002, 0.25}),
            "agree to 5 digits over 3 epochs (largest relative difference 4e-06, at epoch 2)");
  EXPECT_EQ(told({-4}, {-3.8}), "agree to 1 digit over 1 epoch (largest relative difference 0.05, at epoch 1)");
}

TEST(LossAgreement, TellsTheFirstEpochApartWhereItAgreesBetter) {
  EXPECT_EQ(told({1, 0.5, 0.25}, {1.000003, 0.51, 0.25}),
            "agree to 5 digits in the first epoch, agree to 1 digit over 3 epochs (largest relative difference 0.02, "
            "at epoch 2)");
  EXPECT_EQ(
      told({1, 0.5}, {1, 0.500001}),
      "are equal in the first epoch, agree to 5 digits over 2 epochs (largest relative difference 2e-06, at epoch 2)");
}

TEST(LossAgreement, SaysEqualAndNotAtAll) {
  EXPECT_EQ(told({1, 0.5}, {1, 0.5}), "are equal over 2 epochs");
  EXPECT_EQ(told({1, 0.5}, {1.25, 0.5}), "do not agree over 2 epochs (largest relative difference 0.2, at epoch 1)");
  EXPECT_EQ(told({1}, {std::nan("")}), "do not agree over 1 epoch (largest relative difference inf, at epoch 1)");
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

}  // namespace
}  // namespace rnnlab
