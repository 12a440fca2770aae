#include "training/late_values.h"

#include <ATen/Context.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

namespace rnnlab {
namespace {

void wait(const std::function<bool()>& has_ended) {
  while (!has_ended()) {
  }
}

TEST(LateValues, AreThereAtOnceOnACpu) {
  LateValues values;
  EXPECT_FALSE(values.next(wait));
  at::Tensor changing = at::full({2}, 1.0F);
  values.append(changing);
  changing.fill_(2);
  EXPECT_TRUE(values.next(wait).value().equal(at::full({2}, 1.0F)));
  EXPECT_FALSE(values.next(wait));
}

TEST(LateValues, OnAGpuComeTurnsLater) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  LateValues values;
  const at::Tensor changing = at::full({2}, 0.0F, at::TensorOptions().device(at::kCUDA));
  for (size_t turn = 0; turn < 5; ++turn) {
    changing.fill_(static_cast<double>(turn));
    values.append(changing);
    const auto read = values.next(wait);
    ASSERT_EQ(read.has_value(), turn >= LateValues::kTurnsBehind);
    if (!read) continue;
    EXPECT_EQ(read->sum().item<double>(), 2.0 * static_cast<double>(turn - LateValues::kTurnsBehind));
  }
  values.clear();
  EXPECT_FALSE(values.next(wait));
}

}  // namespace
}  // namespace rnnlab
