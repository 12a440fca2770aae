// SPDX-License-Identifier: Apache-2.0
#include "layers/blocked/panel.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "layers/cpu_buffer_pool.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {
namespace {

// A product in float64, and the same of absolute values: what its rounding is relative to, however much cancels.
struct ExactProduct {
  at::Tensor value, magnitude;
};

ExactProduct product_of(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor left = a.to(at::kDouble), right = b.to(at::kDouble);
  return {at::mm(left, right), at::mm(left.abs(), right.abs())};
}

double relative_error(const at::Tensor& got, const ExactProduct& wanted) {
  return ((got.to(at::kDouble) - wanted.value).abs().max() / wanted.magnitude.max()).item<double>();
}

class PanelProducts : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override {
    if (!has_panel_products(GetParam())) GTEST_SKIP() << "needs a processor that oneDNN has block kernels for";
    at::manual_seed(1);
  }
  at::Tensor random(int64_t rows, int64_t columns) const { return at::randn({rows, columns}).to(GetParam()); }
  double rounding() const { return GetParam() == at::kFloat ? 5e-6 : 5e-3; }
};
INSTANTIATE_TEST_SUITE_P(Types, PanelProducts, ::testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& tested) { return std::string(c10::toString(tested.param)); });

TEST_P(PanelProducts, AreThoseOfMatricesOfAnyShape) {
  for (const int64_t rows : {1, 5, 130})
    for (const int64_t depth : {1, 3, 64, 1027})
      for (const int64_t columns : {1, 64, 65, 150}) {
        SCOPED_TRACE(::testing::Message() << rows << " x " << depth << " x " << columns);
        const at::Tensor a = random(rows, depth), b = random(depth, columns);
        const at::Tensor one = at::empty({rows, columns}, GetParam()), other = at::empty_like(one);
        multiply_all(a, PackedMatrix::of(b), one);
        multiply_all(a, PackedMatrix::of_transposed(b.t().contiguous()), other);
        EXPECT_LE(relative_error(one, product_of(a, b)), rounding());
        EXPECT_TRUE(one.equal(other));
      }
}

TEST_P(PanelProducts, BeginAPanelWithEachGroupOfColumns) {
  const at::Tensor a = random(3, 20), b = random(20, 3 * 70);
  const PackedMatrix packed = PackedMatrix::of_transposed(b.t().contiguous(), /*num_groups=*/3);
  ASSERT_EQ(packed.num_panels(), 6);
  const at::Tensor sum = at::zeros({3, 6});
  const ProductSeries series(GetParam());
  multiply({a.const_data_ptr(), 20, 3}, packed.panel(3), {sum.mutable_data_ptr<float>(), 6}, Accumulate::kOverwrite);
  EXPECT_LE(relative_error(sum, product_of(a, b.narrow(1, 70 + 64, 6))), 5e-6);
}

TEST_P(PanelProducts, GoOntoASumWhereTheyShould) {
  const at::Tensor a = random(3, 600), b = random(600, 10);
  const PackedMatrix packed = PackedMatrix::of(b);
  const at::Tensor sum = at::ones({3, 12});
  const ProductSeries series(GetParam());
  const ExactProduct exact = product_of(a, b);
  multiply({a.const_data_ptr(), 600, 3}, packed.panel(0), {sum.mutable_data_ptr<float>(), 12}, Accumulate::kAdd);
  EXPECT_LE(relative_error(sum.narrow(1, 0, 10), {exact.value + 1, exact.magnitude}), 5e-6);
  EXPECT_TRUE(sum.narrow(1, 10, 2).equal(at::ones({3, 2})));
  multiply({a.const_data_ptr(), 600, 3}, packed.panel(0), {sum.mutable_data_ptr<float>(), 12}, Accumulate::kOverwrite);
  EXPECT_LE(relative_error(sum.narrow(1, 0, 10), exact), 5e-6);
}

TEST_P(PanelProducts, OfWeightsSumUpOverUnevenParts) {
  for (const int64_t num_left : {3, 64, 200}) {
    const at::Tensor left = random(500, num_left), right = random(500, 131);
    WeightProduct product(num_left, 131, 201, GetParam());
    for (const auto& [first, size] : {std::pair{0, 201}, {201, 99}, {300, 200}})
      product.add(left.narrow(0, first, size), right.narrow(0, first, size));
    EXPECT_LE(relative_error(product.result(), product_of(left.t(), right)), rounding());
  }
}

TEST(PanelProductsOfOtherTypes, AreNotThere) {
  EXPECT_FALSE(has_panel_products(at::kDouble));
  EXPECT_FALSE(has_panel_products(at::kHalf));
}

TEST(CpuBufferPool, IsUsedAgainOnceNothingRefersToIt) {
  constexpr int64_t kCount = 3 << 20;
  const void* data = nullptr;
  {
    const at::Tensor tensor = empty_pooled({kCount}, at::kFloat);
    const at::Tensor view = tensor.narrow(0, 5, 7);
    data = tensor.const_data_ptr();
    EXPECT_NE(empty_pooled({kCount}, at::kFloat).const_data_ptr(), data);
  }
  const size_t waiting = kept_bytes();
  const at::Tensor first = empty_pooled({kCount}, at::kFloat), second = empty_pooled({2 * kCount}, at::kBFloat16);
  EXPECT_TRUE(first.const_data_ptr() == data || second.const_data_ptr() == data);
  EXPECT_LT(kept_bytes(), waiting);
}

TEST(CpuBufferPool, DoesNotServeASmallTensorFromALargeBlock) {
  { const at::Tensor large = empty_pooled({64 << 20}, at::kFloat); }
  const size_t waiting = kept_bytes();
  const at::Tensor small = empty_pooled({1 << 20}, at::kFloat);
  EXPECT_GE(kept_bytes() + (8U << 20), waiting);
}

TEST(CpuBufferPool, IsPlainMemoryForSmallTensors) {
  const size_t waiting = kept_bytes();
  { const at::Tensor small = empty_pooled({10, 10}, at::kFloat); }
  EXPECT_EQ(kept_bytes(), waiting);
}

// Records what this thread reports to LibTorch's profiler, from which the memory column of `rnnlab bench` is made.
class MemoryWatch : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device) override {
    held += bytes;
    peak = std::max(peak, held);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t held = 0, peak = 0;
};

std::shared_ptr<MemoryWatch> watched(const std::function<void()>& work) {
  const auto watch = std::make_shared<MemoryWatch>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, watch);
  work();
  return watch;
}

TEST(CpuBufferPool, IsReportedWhileItIsInUse) {
  constexpr int64_t kBytes = 5 << 20;
  for (const char* time : {"the first time", "the second time"}) {
    const auto watch = watched([] { empty_pooled({kBytes}, at::kByte); });
    EXPECT_GE(watch->peak, kBytes) << time;
    EXPECT_EQ(watch->held, 0) << time;
  }
}

TEST(CpuBufferPool, ShowsWhatAStepOfBlockedHolds) {
  constexpr int64_t kSteps = 12, kBatch = 40, kHidden = 96;
  constexpr int64_t kGates = kSteps * kBatch * 4 * kHidden * 4, kCell = (kSteps + 1) * kBatch * kHidden * 4;
  const auto layer = make_layer(LayerKind::kBlocked, {.input_size = 7, .hidden_size = kHidden});
  const at::Tensor input = at::randn({kSteps, kBatch, 7});
  const auto step = [&] { layer->forward(input).output.sum().backward(); };
  EXPECT_GE(watched(step)->peak, kGates + kCell);
  EXPECT_GE(watched(step)->peak, kGates + kCell) << "by kept memory";
}

}  // namespace
}  // namespace rnnlab
