// SPDX-License-Identifier: Apache-2.0
#include "results/quality.h"

#include <gmock/gmock.h>

#include <cmath>

#include "golden.h"
#include "results/sample_runs.h"

namespace rnnlab {
namespace {

using testing::sample_row;

TEST(OwnMetric, IsTheOneByWhichATaskIsJudged) {
  EXPECT_EQ(own_metric({{"valid_loss", 1}, {"valid_mae", 1}, {"valid_rmse", 1}}), "valid_rmse");
  EXPECT_EQ(own_metric({{"valid_loss", 1}, {"valid_accuracy", 1}}), "valid_accuracy");
  EXPECT_EQ(own_metric({{"valid_accuracy", 1}, {"valid_perplexity", 4}}), "valid_perplexity");
  EXPECT_EQ(own_metric({{"train_loss", 1}}), "train_loss") << "without validation";
  EXPECT_EQ(own_metric({}), "");
}

TEST(Metrics, AreSmallerIfBetterExceptAccuracies) {
  EXPECT_TRUE(is_better("valid_accuracy", 0.9, 0.8));
  EXPECT_TRUE(is_better("valid_rmse", 0.8, 0.9));
  EXPECT_FALSE(is_better("valid_rmse", 0.9, 0.9));
  EXPECT_EQ(metrics_in_row(sample_row(1, 2.0)).at("valid_accuracy"), 0.875);
  EXPECT_FALSE(metrics_in_row(sample_row(1, 2.0)).contains("train_seconds"));
}

const std::vector<Baseline> kForecasts = {
    {"last value", {{"valid_loss", 0.3123}, {"valid_mae", 1.7268}, {"valid_rmse", 2.2547}}},
    {"mean of the training part", {{"valid_loss", 0.9}, {"valid_mae", 3.5}, {"valid_rmse", 4.0}}}};

TEST(BaselineText, BeginsWithTheMetricOfTheTask) { expect_golden(baseline_text(kForecasts[0])); }

TEST(BaselineWarning, NamesTheBaselineThatTheModelDoesNotBeat) {
  expect_golden(baseline_warning(kForecasts, {{"valid_loss", 0.31}, {"valid_rmse", 2.298}}));
  EXPECT_EQ(baseline_warning(kForecasts, {{"valid_rmse", 2.2}}), std::nullopt);
  EXPECT_EQ(baseline_warning({}, {{"valid_rmse", 2.2}}), std::nullopt);
  const std::vector<Baseline> perfect = {{"most frequent class", {{"valid_accuracy", 1}}}};
  EXPECT_EQ(baseline_warning(perfect, {{"valid_accuracy", 1}}), std::nullopt) << "no model can be better";
  EXPECT_EQ(baseline_warning(kForecasts, {{"valid_accuracy", 0.5}}), std::nullopt) << "no baseline has an accuracy";
}

TEST(WinnerText, SaysWhoPredictsThePartBetter) {
  expect_golden(winner_text({{"valid_loss", 0.1}, {"valid_rmse", 2}}, kForecasts, "test"));
  expect_golden(winner_text({{"valid_loss", 0.1}, {"valid_rmse", 2.5}}, kForecasts, "test"));
  expect_golden(winner_text({{"valid_rmse", std::nan("")}}, kForecasts, ""));
  const std::vector<Baseline> frequent = {{"most frequent class", {{"valid_accuracy", 0.5}}}};
  expect_golden(winner_text({{"valid_accuracy", 0.5}}, frequent, "train"));
  expect_golden(winner_text({{"valid_accuracy", 0.75}}, frequent, "valid"));
  EXPECT_EQ(winner_text({{"valid_accuracy", 0.75}}, {}, "valid"), "valid acc 0.75");
  EXPECT_EQ(winner_text({}, frequent, "valid"), "");
}

EpochRow row_with(int64_t epoch, double accuracy, double loss) {
  EpochRow row = sample_row(epoch, 2.0);
  row.metrics["valid_accuracy"] = accuracy;
  row.valid_loss = loss;
  return row;
}

TEST(Target, IsReachedWhenOneEpochReachesAllOfIt) {
  EXPECT_TRUE(reaches(row_with(1, 0.98, 0.3), {{"valid_accuracy", 0.98}}));
  EXPECT_FALSE(reaches(row_with(1, 0.98, 0.3), {{"valid_accuracy", 0.98}, {"valid_loss", 0.2}}));
  EXPECT_FALSE(reaches(row_with(1, 0.98, 0.3), {{"valid_rmse", 9}})) << "a classifier has none";
  EXPECT_FALSE(reaches(row_with(1, 0.98, 0.3), {}));
}

TEST(Target, CountsTheTrainingOfAllEpochsUntilThen) {
  const std::vector<EpochRow> rows = {row_with(1, 0.5, 1), row_with(2, 0.9, 0.5), row_with(3, 0.99, 0.1)};
  const auto record = target_record({{"valid_accuracy", 0.9}}, rows);
  EXPECT_EQ(record->epoch, 2);
  EXPECT_EQ(record->train_seconds, 4.0) << "two epochs of two seconds, without their validation";
  EXPECT_EQ(target_record({{"valid_accuracy", 0.999}}, rows)->epoch, std::nullopt);
  EXPECT_FALSE(target_record({}, rows).has_value());
}

TEST(Target, IsNamedInWords) { expect_golden(target_text({{"valid_accuracy", 0.98}, {"valid_loss", 0.1}})); }

TEST(BestEpoch, IsTheFirstThatIsBetterByMoreThanMinDelta) {
  const std::vector<EpochRow> rows = {row_with(1, 0.5, 0.9), row_with(2, 0.7, 0.8), row_with(3, 0.75, 0.85)};
  EXPECT_EQ(best_epoch(rows, "")->epoch, 2) << "by the validation loss";
  EXPECT_EQ(best_epoch(rows, "valid_accuracy")->epoch, 3);
  EXPECT_EQ(best_epoch(rows, "valid_accuracy", 0.1)->epoch, 2);
  EXPECT_EQ(best_epoch(rows, "valid_rmse"), nullptr);
  EXPECT_EQ(best_epoch(whole_epochs(rows, 1), "")->epoch, 1);
}

}  // namespace
}  // namespace rnnlab
