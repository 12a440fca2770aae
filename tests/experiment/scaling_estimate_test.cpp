#include "experiment/scaling_estimate.h"

#include <gtest/gtest.h>

#include <limits>

namespace rnnlab {
namespace {

TEST(ScalingEstimate, AddsTheExchangeToThePartOfEachProcess) {
  const ScalingEstimate estimate{
      .num_processes = 4, .whole_seconds = 8e-3, .part_seconds = 3e-3, .exchange_seconds = 1e-3, .num_bytes = 2 << 20};
  EXPECT_DOUBLE_EQ(estimate.speedup(), 2);
  EXPECT_DOUBLE_EQ(estimate.weak_efficiency(), 8.0 / 9);
  EXPECT_EQ(text_of(estimate),
            "expected: 2 times as fast as one GPU with this batch (a pass over it takes 8 ms, over a part of 4 3 ms, "
            "the exchange of 2.00 MiB 1 ms); 89 % of 4 times if each GPU has a batch of this size");
}

TEST(ScalingEstimate, SaysSoWhereOneGpuCannotDoTheWholeBatch) {
  const ScalingEstimate estimate{.num_processes = 2,
                                 .whole_seconds = std::numeric_limits<double>::quiet_NaN(),
                                 .part_seconds = 3e-3,
                                 .exchange_seconds = 1e-3};
  EXPECT_EQ(text_of(estimate), "no estimate: one GPU cannot do a pass over the whole batch");
}

}  // namespace
}  // namespace rnnlab
