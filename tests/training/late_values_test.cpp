#include "training/late_values.h"

#include <ATen/Context.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

namespace rnnlab {
namespace {

TEST(LateValues, AreThereAtOnceOnACpu) {
  LateValues values;
  EXPECT_FALSE(values.next());
  at::Tensor changing = at::full({2}, 1.0F);
  values.append(changing);
  changing.fill_(2);
  EXPECT_TRUE(values.next().value().equal(at::full({2}, 1.0F)));
  EXPECT_FALSE(values.next());
}

TEST(LateValues, OnAGpuComeTurnsLater) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  LateValues values;
  const at::Tensor changing = at::full({2}, 0.0F, at::TensorOptions().device(at::kCUDA));
  for (size_t turn = 0; turn < 5; ++turn) {
    changing.fill_(static_cast<double>(turn));
    values.append(changing);
    const auto read = values.next();
    ASSERT_EQ(read.has_value(), turn >= LateValues::kTurnsBehind);
    if (read) EXPECT_EQ(read->sum().item<double>(), 2.0 * static_cast<double>(turn - LateValues::kTurnsBehind));
  }
  values.clear();
  EXPECT_FALSE(values.next());
}

}  // namespace
}  // namespace rnnlab
