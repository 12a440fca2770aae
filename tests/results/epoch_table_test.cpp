// SPDX-License-Identifier: Apache-2.0
#include "results/epoch_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "golden.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::EndsWith;
using ::testing::Le;

constexpr size_t kWide = 200;

EpochRow classifier_row() {
  EpochRow row = sample_row(1, 2.34567);
  row.warmup = true;
  return row;
}

EpochRow regressor_row() {
  return {.epoch = 1,
          .train_loss = 0.3608,
          .valid_loss = 0.2694,
          .metrics = {{"train_mae", 3.745}, {"valid_mae", 3.305}, {"train_rmse", 4.59}, {"valid_rmse", 3.966}},
          .learning_rate = 0.001,
          .gradient_norm = 0.72,
          .train_seconds = 2.477,
          .valid_seconds = 0.259,
          .samples_per_second = 2808,
          .peak_memory_bytes = 193'784'000,
          .warmup = true};
}

TEST(EpochTable, HasMetricsThatTheRunAsksForBehindTheUsualOnes) {
  EpochRow row{.epoch = 1, .train_loss = 0.5, .metrics = {{"train_accuracy", 0.5}, {"valid_roc_auc", 0.75}}};
  row.undefined["valid_macro_f1"] = "a reason";
  const EpochTable table(row, 60, Validation::kNo);
  expect_golden(table.header());
  EXPECT_EQ(table.line(row), "    1     0.5000         -   0.7500      0.5000");
}

TEST(EpochTable, LinesUpAndMarksWarmUp) {
  const EpochTable table(classifier_row(), kWide, Validation::kYes);
  expect_golden(table.header());
  EXPECT_EQ(table.line(classifier_row()),
            "    1     0.7500     0.8750      0.5000      0.2500    2.346     51,158    0.001000      1.500     125.0"
            "      1.50    62.50  (warm-up)");
  EXPECT_EQ(table.line(sample_row(12, 1)),
            "   12     0.7500     0.8750      0.5000      0.2500    1.000    120,000    0.001000      1.500     125.0"
            "      1.50    62.50");
}

TEST(EpochTable, HasTheColumnsOfTheTaskFirstAndFitsIntoTheWidth) {
  const EpochTable classifier(classifier_row(), 80, Validation::kYes);
  expect_golden(classifier.header());
  const EpochTable regressor(regressor_row(), 80, Validation::kYes);
  expect_golden(regressor.header());
  EXPECT_EQ(regressor.line(regressor_row()),
            "    1       3.966      3.305      0.3608      0.2694    2.477  (warm-up)");
  const EpochTable language_model({.epoch = 1, .train_loss = 2, .metrics = {{"train_perplexity", 7.4}}}, 60,
                                  Validation::kNo);
  expect_golden(language_model.header());
}

TEST(EpochTable, IsNeverWiderThanTheTerminalButAlwaysHasAMetric) {
  for (size_t width = 30; width < 150; ++width) {
    const EpochTable table(regressor_row(), width, Validation::kYes);
    EXPECT_THAT(table.line(regressor_row(), "cut short").size(), Le(width)) << width;
  }
  EXPECT_EQ(EpochTable(regressor_row(), 1, Validation::kYes).header(), "epoch  valid RMSE");
}

TEST(EpochTable, ShowsAGivenMarkInPlaceOfWarmUp) {
  EXPECT_THAT(EpochTable(classifier_row(), kWide, Validation::kYes).line(classifier_row(), "cut short"),
              EndsWith("  (cut short)"));
}

TEST(EpochTable, HasColumnsOfTheValidationThoughTheFirstEpochWasCutShort) {
  EpochRow row{.epoch = 1, .train_loss = 2, .metrics = {{"train_accuracy", 0.5}}};
  const EpochTable table(row, 80, Validation::kYes);
  expect_golden(table.header());
  EXPECT_EQ(table.line(row), "    1     0.5000          -      2.0000           -     0.000");
}

TEST(EpochTable, KeepsItsColumnsWhateverTheNumbers) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  const EpochTable table({.epoch = 1, .train_loss = 0.012345, .metrics = {{"valid_rmse", 0.5}}}, 60, Validation::kNo);
  EXPECT_EQ(table.line({.epoch = 1, .train_loss = 0.012345, .metrics = {{"valid_rmse", 0.5}}}),
            "    1      0.5000     0.01235     0.000");
  EXPECT_EQ(table.line({.epoch = 2, .train_loss = 1.234e30, .metrics = {{"valid_rmse", 123456}}}),
            "    2  123456.000   1.234e+30     0.000");
  EXPECT_EQ(
      table.line(
          {.epoch = 3, .train_loss = -kNan, .metrics = {{"valid_rmse", -std::numeric_limits<double>::infinity()}}}),
      "    3        -inf         nan     0.000");
}

TEST(EpochTable, ShowsShortTimesInMilliseconds) {
  EpochRow row = classifier_row();
  row.train_seconds = 0.0512;
  const EpochTable table(row, 80, Validation::kYes);
  EXPECT_THAT(table.header(), EndsWith("valid loss  train ms"));
  EXPECT_THAT(table.line(row), EndsWith("0.2500     51.20  (warm-up)"));
  row.train_seconds = 1.2;
  EXPECT_THAT(table.line(row), EndsWith("0.2500   1200.00  (warm-up)"));
}

TEST(ColumnFormat, HasTheDecimalsOfTheSmallestValue) {
  const auto rmse = std::ranges::find(epoch_columns(), "valid_rmse", &EpochColumn::name);
  const ColumnFormat format = column_format(*rmse, std::vector<double>{2.43, 2.618, 17.5});
  EXPECT_EQ(number_text(format, 2.43), "2.430");
  EXPECT_EQ(number_text(format, 17.5), "17.500");
  EXPECT_EQ(number_text(column_format(*rmse, std::vector<double>{0.0, -0.0}), 0), "0.0000");
}

}  // namespace
}  // namespace rnnlab::testing
