#include "results/shape_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/sample_records.h"
#include "results/sample_rows.h"

namespace rnnlab::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Warning> told_of(const std::vector<double>& seconds) { return shape_warnings(sample_rows(seconds)); }

TEST(ShapeWarnings, SayNothingOfAnHonestRun) {
  EXPECT_THAT(told_of({1.0, 1.1, 1.05, 0.98, 1.2, 1.02}), IsEmpty());
  EXPECT_THAT(told_of({}), IsEmpty());
}

TEST(ShapeWarnings, LeaveOutWarmUp) {
  std::vector<EpochRow> rows = sample_rows({10, 1.0, 1.1, 1.05, 0.98, 1.2});
  EXPECT_THAT(shape_warnings(rows),
              ElementsAre(Warning{"cold_epoch",
                                  "epoch 1 is not warm yet: it took 10 s, the others 1.05 s in the median; "
                                  "training.warmup_epochs=1 leaves it out"}));
  rows[0].warmup = true;
  EXPECT_THAT(shape_warnings(rows), IsEmpty());
}

TEST(ShapeWarnings, NameAnOutlierOnce) {
  EXPECT_THAT(told_of({1.0, 1.1, 1.05, 100, 1.2, 1.02}),
              ElementsAre(Warning{"outlier",
                                  "epoch 4 is an outlier: it took 100 s, 93 times the median of 1.075 s; look what "
                                  "else ran, or measure again"}));
}

TEST(ShapeWarnings, TakeAStepForTwoKindsAndNotForATrend) {
  const auto found = told_of({3, 3.1, 2.9, 3.05, 3.02, 1, 1.05, 0.95, 1.02, 1.01});
  EXPECT_THAT(texts_of(found), ElementsAre("two kinds of epochs: 5 of 1.01 s and 5 of 3.02 s, none between, so the "
                                           "median is that of one kind; look what changed, and measure again"));
}

TEST(ShapeWarnings, TellOfProcessesToo) {
  std::vector<RunRecord> runs;
  for (int64_t round = 1; round <= 8; ++round) {
    const double seconds = 1 + 0.1 * static_cast<double>(round);
    runs.push_back(sample_record("a", round, {seconds, 1.01 * seconds, seconds}));
  }
  EXPECT_THAT(texts_of(shape_warnings(group_of(runs))),
              ElementsAre("the times drift: +63 % from process 1 to 8, so no median stands for all; let the machine "
                          "settle, and measure again"));
}

TEST(ShapeWarnings, ProcessesMayHaveEqualMedians) {
  const std::vector<RunRecord> runs(3, sample_record("a", 1, {1}));
  EXPECT_THAT(shape_warnings(group_of(runs)), IsEmpty());
}

}  // namespace
}  // namespace rnnlab::testing
