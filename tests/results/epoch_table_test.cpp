#include "results/epoch_table.h"

#include <gtest/gtest.h>

#include "results/sample_rows.h"

namespace rnnlab::testing {
namespace {

TEST(EpochTable, LinesUpAndMarksWarmUp) {
  EpochRow first = sample_row(1, 2.34567);
  first.warmup = true;
  const EpochTable table(first);
  EXPECT_EQ(table.header(),
            "epoch  train loss  train acc  valid loss  valid acc  learn rate  grad norm  train s  valid s   data s  "
            "samples/s  peak memory");
  EXPECT_EQ(table.line(first),
            "    1      0.5000     0.7500      0.2500     0.8750       0.001        1.5    2.346    0.125   0.0625  "
            "    51158     1.50 GiB  (warm-up)");
  EXPECT_EQ(table.line(sample_row(12, 1)),
            "   12      0.5000     0.7500      0.2500     0.8750       0.001        1.5        1    0.125   0.0625  "
            "   120000     1.50 GiB");
}

TEST(EpochTable, MarksWhatItIsToldInPlaceOfWarmUp) {
  EpochRow row{.epoch = 2, .train_loss = 1};
  row.warmup = true;
  EXPECT_TRUE(EpochTable(row).line(row, "cut short").ends_with("  (cut short)"));
}

TEST(EpochTable, KeepsItsColumnsWhateverTheNumbers) {
  const EpochTable table({.epoch = 1, .valid_rmse = 1});
  EXPECT_EQ(table.header(), "epoch  train loss  learn rate  train s   data s  samples/s  valid RMSE");
  EXPECT_EQ(table.line({.epoch = 1, .train_loss = 1.234e30, .samples_per_second = 1e12, .valid_rmse = 123456}),
            "    1   1.234e+30           0        0        0  1.000e+12   1.235e+05");
}

TEST(EpochTable, LeavesOutWhatTheRunDoesNotHave) {
  const EpochTable table({.epoch = 1, .train_loss = 2, .valid_perplexity = 7.5});
  EXPECT_EQ(table.header(), "epoch  train loss  learn rate  train s   data s  samples/s  valid ppl");
  EXPECT_EQ(table.line({.epoch = 2, .train_loss = 1.5}),
            "    2      1.5000           0        0        0          0          -");
}

}  // namespace
}  // namespace rnnlab::testing
