// SPDX-License-Identifier: Apache-2.0
#include "layers/torch_ops/layer_pool.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace rnnlab::operators {
namespace {

LayerRequest request_of(int64_t hidden_size, LayerKind kind = LayerKind::kHoisted) {
  return {kind, {.cell = Cell::kLstm, .input_size = 3, .hidden_size = hidden_size}, at::kCPU};
}

TEST(LayerPool, GivesEachUserALayerOfItsOwnAndUsesItAgain) {
  LayerPool pool;
  const RecurrentLayer* first = nullptr;
  {
    const LayerInUse one = pool.take(request_of(4)), other = pool.take(request_of(4));
    EXPECT_NE(one.operator->(), other.operator->());
    EXPECT_EQ(pool.num_waiting(), 0);
    first = one.operator->();
  }
  EXPECT_EQ(pool.num_waiting(), 2);
  const LayerInUse again = pool.take(request_of(4));
  EXPECT_EQ(again.operator->(), first);  // given back last
}

TEST(LayerPool, GivesALayerOfTheRequest) {
  LayerPool pool;
  { const LayerInUse small = pool.take(request_of(4)); }
  const LayerInUse large = pool.take(request_of(5));
  EXPECT_EQ(large->options().hidden_size, 5);
  EXPECT_EQ(pool.num_waiting(), 1);
}

TEST(LayerPool, KeepsNoWeightsAndDrawsNoRandomNumbers) {
  LayerPool pool;
  const at::Tensor before = at::detail::getDefaultCPUGenerator().get_state();
  at::Tensor weight = at::zeros({16, 3});
  for (const LayerKind kind : {LayerKind::kHoisted, LayerKind::kNaive, LayerKind::kFused}) {
    const LayerInUse layer = pool.take(request_of(4, kind));
    layer->use_weights({weight, at::zeros({16, 4}), at::zeros({16}), at::zeros({16})});
  }
  EXPECT_EQ(weight.use_count(), 1);
  EXPECT_TRUE(before.equal(at::detail::getDefaultCPUGenerator().get_state()));
}

TEST(LayerPool, KeepsABoundedNumberOfLayers) {
  LayerPool pool;
  for (int64_t size = 1; size <= 300; ++size) const LayerInUse layer = pool.take(request_of(size));
  EXPECT_EQ(pool.num_waiting(), 256);
}

TEST(LayerPool, RefusesWhatTheLayerCannotCompute) {
  LayerPool pool;
  EXPECT_THROW(pool.take({LayerKind::kFused, {.cell = Cell::kSlstm, .input_size = 3, .hidden_size = 4}, at::kCPU}),
               UserError);
}

}  // namespace
}  // namespace rnnlab::operators
