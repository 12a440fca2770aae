// SPDX-License-Identifier: Apache-2.0
// Tests that stacks with dropout run layer by layer, with the results of a single call, and with the same dropout
// between layers as every other layer kind.
#include "layers/stacked_layer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/layer_under_test.h"
#include "layers/on_cuda.h"

namespace rnnlab {
namespace {

using reference::Lengths;
using reference::Problem;
using reference::Start;
using ::testing::SizeIs;

RecurrentOptions stack_of(Cell cell, double dropout) {
  return {.cell = cell, .input_size = 3, .hidden_size = 4, .num_layers = 3, .bidirectional = true, .dropout = dropout};
}

std::vector<std::string> names_of(const std::vector<RecurrentOptions>& groups) {
  std::vector<std::string> shapes;
  for (const RecurrentOptions& group : groups)
    for (const ParameterSpec& spec : parameter_specs(group))
      shapes.push_back(fmt::format("{}", fmt::join(spec.shape, "x")));
  return shapes;
}

TEST(LayerGroups, AreOneWithoutDropoutBetweenLayers) {
  EXPECT_THAT(layer_groups(stack_of(Cell::kLstm, 0)), SizeIs(1));
  RecurrentOptions one_layer = stack_of(Cell::kLstm, 0.5);
  one_layer.num_layers = 1;
  EXPECT_THAT(layer_groups(one_layer), SizeIs(1));
  EXPECT_EQ(layer_groups(one_layer)[0].dropout, 0);
}

TEST(LayerGroups, AreTheLayersWithDropoutAndTogetherHaveTheParametersOfTheStack) {
  const auto groups = layer_groups(stack_of(Cell::kGru, 0.5));
  EXPECT_THAT(groups, SizeIs(3));
  for (const RecurrentOptions& group : groups) EXPECT_EQ(group.dropout, 0);
  EXPECT_EQ(names_of(groups), names_of({stack_of(Cell::kGru, 0.5)}));
}

class FusedInGroups : public ::testing::TestWithParam<Cell> {
 protected:
  FusedInGroups()
      : problem_(reference::random_problem(stack_of(GetParam(), 0.5),
                                           {.start = Start::kGiven, .lengths = Lengths::kVaried}, 1e-3)),
        upstream_(reference::random_upstream(problem_)),
        naive_(make_layer_for(LayerKind::kNaive, problem_, {})),
        fused_(make_layer_for(LayerKind::kFused, problem_, {})) {}

  Results results_of(RecurrentLayer& layer) const {
    at::manual_seed(7);
    return run(layer, problem_, upstream_, {});
  }

  Problem problem_;
  reference::Result upstream_;
  std::shared_ptr<RecurrentLayer> naive_, fused_;
};
INSTANTIATE_TEST_SUITE_P(Cells, FusedInGroups,
                         ::testing::Values(Cell::kLstm, Cell::kGru, Cell::kRnnTanh, Cell::kRnnRelu),
                         [](const auto& tested) { return std::string(config::name_of(tested.param)); });

TEST_P(FusedInGroups, EvaluatesLikeNaive) {
  naive_->eval();
  fused_->eval();
  expect_near(results_of(*fused_), results_of(*naive_), kFloat32Cpu);
}

// Both layers draw from the same state of LibTorch's generator, so their masks are equal.
TEST_P(FusedInGroups, TrainsLikeNaiveWithTheSameDropout) {
  const Results first = results_of(*fused_);
  expect_near(first, results_of(*naive_), kFloat32Cpu);
  expect_near(first, results_of(*fused_), 0);
}

TEST_P(FusedInGroups, TrainsUnderAutocast) {
  const Autocast autocast(at::kCPU);
  fused_->forward(at::randn({5, 4, 3})).output.sum().backward();
  for (const at::Tensor& parameter : fused_->parameters()) {
    EXPECT_TRUE(parameter.grad().isfinite().all().item<bool>());
    EXPECT_GT(parameter.grad().abs().max().item<double>(), 0);
  }
}

TEST_P(FusedInGroups, StartsWithTheWeightsOfTheWholeStack) {
  at::manual_seed(1);
  const auto grouped = make_layer(LayerKind::kFused, stack_of(GetParam(), 0.5));
  at::manual_seed(1);
  const auto whole = make_layer(LayerKind::kFused, stack_of(GetParam(), 0));
  const auto parameters = grouped->parameters(), wanted = whole->parameters();
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(at::equal(parameters[i], wanted[i])) << i;
}

}  // namespace
}  // namespace rnnlab
