// Tests how the steps of persistent layers are divided into parts, which run at the same time.
#include "recurrent/persistent/layer_parts.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recurrent/unrolled/passes.h"

namespace rnnlab {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::vector<int64_t> sizes(const std::vector<Steps>& parts) {
  std::vector<int64_t> all;
  for (const Steps& steps : parts) all.push_back(steps.size());
  return all;
}

TEST(PartsOfSteps, AreOneWhereThereIsNothingBeside) {
  EXPECT_THAT(sizes(parts_of_steps(100, 1, 0.2)), ElementsAre(100)) << "one layer";
  EXPECT_THAT(sizes(parts_of_steps(100, 4, 0.9)), ElementsAre(100)) << "a full GPU";
  EXPECT_THAT(sizes(parts_of_steps(28, 2, 0.5)), ElementsAre(28)) << "too short to be worth it";
}

TEST(PartsOfSteps, CoverAllStepsInOrder) {
  const auto parts = parts_of_steps(101, 4, 0.5);
  EXPECT_THAT(sizes(parts), ElementsAre(20, 20, 20, 20, 21));
  for (size_t i = 1; i < parts.size(); ++i) EXPECT_EQ(parts[i].first, parts[i - 1].last);
}

TEST(PartsOfSteps, AreMoreForMoreLayersAndSteps) {
  EXPECT_EQ(parts_of_steps(1000, 2, 0.5).size(), 9U);
  EXPECT_EQ(parts_of_steps(1000, 4, 0.5).size(), 16U);
}

TEST(PartsOfSteps, OfALayerReadBackwardsBeginAtTheEnd) {
  const at::Tensor tensor = at::arange(10);
  EXPECT_EQ(rows_of(tensor, Direction::kForward, {0, 3})[0].item<int64_t>(), 0);
  EXPECT_EQ(rows_of(tensor, Direction::kReverse, {0, 3})[0].item<int64_t>(), 7);
  EXPECT_FALSE(rows_of({}, Direction::kForward, {0, 3}).defined());
}

TEST(PartsOfSteps, OfATraceHaveTheStateBeforeThem) {
  LayerTrace trace;
  trace.gates = at::arange(6).view({6, 1, 1});
  trace.hidden = at::arange(7).view({7, 1, 1});
  const LayerTrace part = part_of(trace, Direction::kForward, {2, 4});
  EXPECT_EQ(part.num_steps(), 2);
  EXPECT_EQ(part.hidden[0].item<int64_t>(), 2);
  EXPECT_EQ(part.hidden.size(0), 3);
}

LayerGradients gradients_of(int64_t num_steps) {
  LayerGradients gradients;
  gradients.sides = gradients.input_side = gradients.recurrent_side = at::arange(num_steps).view({num_steps, 1, 1});
  gradients.from_next_step = at::zeros({1, 1});
  return gradients;
}

TEST(PartsOfSteps, OfGradientsHaveOneSideWhereThereIsOne) {
  LayerGradients gradients = gradients_of(6);
  const LayerGradients part = part_of(gradients, Direction::kForward, {2, 4}, 0);
  EXPECT_TRUE(part.recurrent_side.is_same(part.input_side));
  EXPECT_EQ(part.input_side[0].item<int64_t>(), 2);
  EXPECT_TRUE(part.from_next_step.is_same(gradients.from_next_step)) << "handed on from part to part";

  gradients.sides = at::arange(24).view({6, 1, 4});
  gradients.input_side = gradients.sides.narrow(2, 1, 3);
  gradients.recurrent_side = gradients.sides.narrow(2, 0, 3);
  const LayerGradients of_two = part_of(gradients, Direction::kReverse, {2, 4}, 0);
  EXPECT_EQ(of_two.sides[0][0][0].item<int64_t>(), 8);
  EXPECT_EQ(of_two.input_side[0][0][0].item<int64_t>(), 9);
  EXPECT_EQ(of_two.recurrent_side[0][0][0].item<int64_t>(), 8);
}

TEST(PartsOfSteps, OfGradientsHaveSumsForBiasesOfTheirOwn) {
  LayerGradients gradients = gradients_of(6);
  gradients.bias_sums = at::arange(3).view({3, 1, 1, 1});
  EXPECT_EQ(part_of(gradients, Direction::kForward, {4, 6}, 2).bias_sums.item<int64_t>(), 2);
}

TEST(Diagonals, HaveWhatALayerWaitsForQueuedLast) {
  std::vector<std::pair<size_t, size_t>> order;
  along_diagonals(2, 3, [&](size_t layer, size_t part) { order.emplace_back(layer, part); });
  EXPECT_THAT(order, ElementsAre(Pair(0, 0), Pair(1, 0), Pair(0, 1), Pair(1, 1), Pair(0, 2), Pair(1, 2)));
}

}  // namespace
}  // namespace rnnlab
