// SPDX-License-Identifier: Apache-2.0
#include "train/loop/device_rates.h"

#include <gtest/gtest.h>

namespace rnnlab {
namespace {

TEST(DeviceRates, ArePossibleOnACpu) {
  constexpr double kFarMoreThanAnyCpu = 1e15;
  for (const double rate : {best_product_rate(c10::kCPU, Precision::kFp32), best_copy_rate(c10::kCPU)}) {
    EXPECT_GT(rate, 0);
    EXPECT_LT(rate, kFarMoreThanAnyCpu);
  }
}

}  // namespace
}  // namespace rnnlab
