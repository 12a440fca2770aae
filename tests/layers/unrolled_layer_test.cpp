// SPDX-License-Identifier: Apache-2.0
// Tests parts of the unrolled layers that the parity suite does not reach: grouping of steps, larger stacks, and
// omitted work.
#include "layers/unrolled/unrolled_layer.h"

#include <ATen/Context.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/unrolled/passes.h"
#include "layers/unrolled/stream_set.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> sizes_of_groups(const UnrolledVariant& variant, int64_t num_steps, size_t num_layers) {
  std::vector<int64_t> sizes;
  int64_t next = 0;
  for (const Steps& steps : groups_of_steps({{}, variant}, num_steps, num_layers)) {
    EXPECT_EQ(steps.first, next);
    next = steps.last;
    sizes.push_back(steps.size());
  }
  EXPECT_EQ(next, num_steps);
  return sizes;
}

TEST(GroupsOfSteps, AreSingleStepsUntilTheInputsAreHoisted) {
  EXPECT_THAT(sizes_of_groups(kGroupedVariant, 3, 1), ElementsAre(1, 1, 1));
  EXPECT_THAT(sizes_of_groups(kPretransposedVariant, 3, 1), ElementsAre(1, 1, 1));
  EXPECT_THAT(sizes_of_groups(kHoistedVariant, 3, 1), ElementsAre(3));
}

TEST(GroupsOfSteps, BalanceProductsAndWaitsInAWavefront) {
  EXPECT_THAT(sizes_of_groups(kWavefrontVariant, 100, 4), ::testing::Each(5));
  EXPECT_THAT(sizes_of_groups(kWavefrontVariant, 16, 1), ElementsAre(4, 4, 4, 4));
  EXPECT_THAT(sizes_of_groups(kWavefrontVariant, 10, 1), ElementsAre(3, 3, 3, 1));
  EXPECT_THAT(sizes_of_groups(kWavefrontVariant, 1, 8), ElementsAre(1));
}

TEST(UnrolledVariant, AddsOneOptimisationToTheOneBefore) {
  EXPECT_FALSE(kGroupedVariant.uses_two_streams);
  EXPECT_TRUE(kStreamedVariant.uses_two_streams);
  EXPECT_FALSE(kStreamedVariant.fuses_pointwise);
  EXPECT_TRUE(kFusedPointwiseVariant.fuses_pointwise);
  EXPECT_FALSE(kFusedPointwiseVariant.pretransposes);
  EXPECT_TRUE(kPretransposedVariant.pretransposes);
  EXPECT_EQ(kPretransposedVariant.input_products, InputProducts::kOneStep);
  EXPECT_EQ(kHoistedVariant.input_products, InputProducts::kAllSteps);
  EXPECT_FALSE(kHoistedVariant.pipelines_layers);
  EXPECT_TRUE(kWavefrontVariant.pipelines_layers);
}

// The function below throws after it has queued work on a side stream, as a pass does if a kernel cannot start. The
// current stream must wait for that work nevertheless.
TEST(StreamSet, IsJoinedIfAPassThrows) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  const at::Device gpu(at::kCUDA, 0);
  const at::Tensor number = at::zeros({1}, gpu), large = at::ones({8192, 8192}, gpu);
  const auto pass = [&] {
    const StreamSet streams(gpu, 2);
    streams.run(1, [&] {
      for (int i = 0; i < 20; ++i) at::mm(large, large);  // takes longer than it is queued
      number.fill_(1);
    });
    throw std::runtime_error("a step that cannot be queued");
  };
  EXPECT_THROW(pass(), std::runtime_error);
  EXPECT_EQ(number.item<float>(), 1) << "the current stream did not wait for the other stream";
}

// The test has groups of several steps, several diagonals, and gradients from the middle of the stack's results.
class DeepStack : public ::testing::TestWithParam<LayerKind> {};
INSTANTIATE_TEST_SUITE_P(Unrolled, DeepStack,
                         ::testing::Values(LayerKind::kGrouped, LayerKind::kHoisted, LayerKind::kWavefront,
                                           LayerKind::kDiagonal),
                         [](const auto& tested) { return std::string(config::name_of(tested.param)); });

TEST_P(DeepStack, GivesTheSameAsNaive) {
  const RecurrentOptions options = {.input_size = 6, .hidden_size = 8, .num_layers = 4};
  const auto naive = make_layer(LayerKind::kNaive, options);
  const auto layer = make_layer(GetParam(), options);
  copy_weights(*naive, *layer);
  const auto train = [&](RecurrentLayer& tested, const at::Tensor& input) {
    const RecurrentResult result = tested.forward(input);
    (result.output.pow(2).sum() + result.state.hidden.sum() + result.state.cell().pow(2).sum()).backward();
    return result.output.detach();
  };
  const at::Tensor data = at::randn({21, 3, 6});
  const at::Tensor input = data.clone().requires_grad_(), other = data.clone().requires_grad_();
  EXPECT_TRUE(at::allclose(train(*layer, input), train(*naive, other), 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(input.grad(), other.grad(), 1e-4, 1e-5));
  for (const auto& item : naive->named_parameters())
    EXPECT_TRUE(at::allclose(layer->named_parameters()[item.key()].grad(), item.value().grad(), 1e-4, 1e-4))
        << item.key();
}

TEST_P(DeepStack, LeavesOutGradientsThatAreNotNeeded) {
  const auto layer = make_layer(GetParam(), {.input_size = 3, .hidden_size = 4, .num_layers = 2});
  for (auto& parameter : layer->parameters()) parameter.requires_grad_(false);
  const at::Tensor input = at::randn({5, 2, 3}).requires_grad_();
  layer->forward(input).output.sum().backward();
  EXPECT_GT(input.grad().abs().sum().item<double>(), 0);
  for (const auto& parameter : layer->parameters()) EXPECT_FALSE(parameter.grad().defined());
}

TEST(Wavefront, DropsOutBetweenLayersInGroups) {
  const auto layer =
      make_layer(LayerKind::kWavefront, {.input_size = 3, .hidden_size = 64, .num_layers = 2, .dropout = 0.5});
  const at::Tensor input = at::randn({9, 4, 3});
  const at::Tensor first = layer->forward(input).output;
  EXPECT_FALSE(at::equal(first, layer->forward(input).output));
  layer->eval();
  EXPECT_TRUE(at::equal(layer->forward(input).output, layer->forward(input).output));
}

}  // namespace
}  // namespace rnnlab
