// SPDX-License-Identifier: Apache-2.0
// Tests the times of operations in a recording, and the lines that show them.
#include "train/loop/operation_times.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::IsEmpty;

TEST(SelfTimes, ACallIsChargedWithoutThoseWithin) {
  const auto uses = self_times({{.name = "outer", .thread = 1, .start_ns = 0, .end_ns = 100},
                                {.name = "inner", .thread = 1, .start_ns = 10, .end_ns = 30},
                                {.name = "deep", .thread = 1, .start_ns = 15, .end_ns = 20},
                                {.name = "inner", .thread = 1, .start_ns = 40, .end_ns = 50}});
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(uses[0].name, "outer");
  EXPECT_DOUBLE_EQ(uses[0].seconds, 70e-9);
  EXPECT_EQ(uses[1].name, "inner");
  EXPECT_EQ(uses[1].count, 2);
  EXPECT_DOUBLE_EQ(uses[1].seconds, 25e-9);
  EXPECT_DOUBLE_EQ(uses[2].seconds, 5e-9);
}

TEST(SelfTimes, ThreadsHaveNothingToDoWithEachOther) {
  const auto uses = self_times({{.name = "a", .thread = 1, .start_ns = 0, .end_ns = 100},
                                {.name = "b", .thread = 2, .start_ns = 10, .end_ns = 30}});
  EXPECT_DOUBLE_EQ(uses.at(0).seconds, 100e-9);
  EXPECT_DOUBLE_EQ(uses.at(1).seconds, 20e-9);
}

TEST(SelfTimes, CallsOfTheSameMomentNest) {
  const auto uses = self_times({{.name = "inner", .thread = 1, .start_ns = 0, .end_ns = 40},
                                {.name = "outer", .thread = 1, .start_ns = 0, .end_ns = 100}});
  EXPECT_EQ(uses.at(0).name, "outer");
  EXPECT_DOUBLE_EQ(uses.at(0).seconds, 60e-9);
}

TEST(ProfileLines, ShowTheLargestPartsOfEachSide) {
  const std::vector<KernelUse> device = {{"void cutlass::gemm<float, 4>(int)", 3, 2e-3},
                                         {"(anonymous namespace)::tanh(float*)", 8, 1e-3},
                                         {"void cutlass::gemm<half, 8>(int)", 1, 1e-3}};
  const std::vector<KernelUse> host = {{"step", 2, 0.99e-3}, {"clip", 2, 5e-6}, {"tiny", 4, 5e-6}};
  expect_golden(profile_lines(device, host, 2));
}

TEST(ProfileLines, AreTenRowsAndTheRest) {
  std::vector<KernelUse> uses;
  for (int i = 0; i < 12; ++i) uses.push_back({fmt::format("op{}", i), 1, 1e-3});
  EXPECT_EQ(profile_lines(uses, {}, 1).size(), 1 + 1 + 10 + 1u);
  EXPECT_THAT(profile_lines({}, {}, 1), IsEmpty());
}

}  // namespace
}  // namespace rnnlab
