// SPDX-License-Identifier: Apache-2.0
#include "base/system/warning.h"

#include <gtest/gtest.h>

#include "golden.h"

namespace rnnlab {
namespace {

const Warning kBusy = {warning::kCpuBusy, "THE CPU IS BUSY"};
const Warning kLoad = {warning::kHighLoad, "the load average was 6.0"};
const Warning kUseless = {warning::kNotBetterThanBaseline, "the model is not better"};

TEST(Warnings, AreAboutTimesOrAboutTheNumbersOfARun) {
  for (const char* kind : {warning::kCpuBusy, warning::kHighLoad, warning::kMoreThreadsThanCpus, warning::kSlowBuild,
                           warning::kCpuShared, warning::kWaited, warning::kThrottled, warning::kTrend})
    EXPECT_TRUE(is_about_times({kind, ""})) << kind;
  for (const char* kind : {warning::kNotBetterThanBaseline, warning::kHighLoss, warning::kDiverged, warning::kOther,
                           warning::kLittleMemory, warning::kEditedSummary})
    EXPECT_FALSE(is_about_times({kind, ""})) << kind;
  const SplitWarnings split = split_by_times({kBusy, kUseless, kLoad});
  EXPECT_EQ(split.of_times, (std::vector<Warning>{kBusy, kLoad}));
  EXPECT_EQ(split.others, std::vector<Warning>{kUseless});
}

TEST(Warnings, OnTimesBecomeOneLine) {
  EXPECT_EQ(one_line_on_times({}, "train.log has"), "");
  expect_golden(one_line_on_times({kBusy}, "train.log has"));
  expect_golden(one_line_on_times({kBusy, kLoad}, "train.log has"));
  expect_golden(one_line_on_times({kBusy, kLoad, kLoad}, "--verbose shows"));
}

}  // namespace
}  // namespace rnnlab
