// SPDX-License-Identifier: Apache-2.0
#include "layers/dropout.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace rnnlab {
namespace {

// This number is larger than one thread's share, and is not a multiple of the numbers that are drawn together.
constexpr int64_t kCount = 100'001;

at::Tensor mask_of(double probability, at::ScalarType type = at::kFloat) {
  return apply_dropout(at::ones({kCount}, type), probability);
}

TEST(Dropout, DropsTheGivenShareAndScalesTheRest) {
  at::manual_seed(1);
  for (const double probability : {0.1, 0.5, 0.9}) {
    const at::Tensor mask = mask_of(probability);
    const at::Tensor kept = mask.masked_select(mask != 0);
    EXPECT_TRUE(kept.equal(at::full_like(kept, 1 / (1 - probability))));
    // One standard deviation is at most .0016.
    EXPECT_NEAR(static_cast<double>(kept.numel()) / kCount, 1 - probability, 0.008);
  }
  EXPECT_TRUE(mask_of(0).equal(at::ones({kCount})));
}

TEST(Dropout, RepeatsFromTheSeedForEachNumberOfThreads) {
  const auto draw = [](int num_threads) {
    at::set_num_threads(num_threads);
    at::manual_seed(7);
    return mask_of(0.3);
  };
  const at::Tensor one = draw(1), three = draw(3), next = mask_of(0.3);
  at::set_num_threads(1);
  EXPECT_TRUE(one.equal(three));
  EXPECT_FALSE(one.equal(next)) << "every call has its own mask";
}

TEST(Dropout, DropsTheSameInEveryType) {
  at::manual_seed(3);
  const at::Tensor wanted = mask_of(0.5);
  for (const at::ScalarType type : {at::kDouble, at::kBFloat16, at::kHalf}) {
    at::manual_seed(3);
    const at::Tensor got = mask_of(0.5, type);
    EXPECT_EQ(got.scalar_type(), type);
    EXPECT_TRUE(got.to(at::kFloat).equal(wanted));
  }
}

TEST(Dropout, HasAGradientOnlyForKeptValues) {
  at::manual_seed(3);
  const at::Tensor values = at::arange(1, 1001, at::kFloat).requires_grad_();
  const at::Tensor result = apply_dropout(values, 0.5);
  result.sum().backward();
  EXPECT_TRUE(result.detach().equal(values.detach() * values.grad()));
}

}  // namespace
}  // namespace rnnlab
