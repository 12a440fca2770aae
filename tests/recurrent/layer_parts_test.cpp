// How the steps of persistent layers are cut into parts that run side by side.
#include "recurrent/persistent/layer_parts.h"

#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Diagonals, HaveWhatALayerWaitsForQueuedLast) {
  std::vector<std::pair<size_t, size_t>> order;
  along_diagonals(2, 3, [&](size_t layer, size_t part) { order.emplace_back(layer, part); });
  EXPECT_THAT(order, ElementsAre(Pair(0, 0), Pair(1, 0), Pair(0, 1), Pair(1, 1), Pair(0, 2), Pair(1, 2)));
}

}  // namespace
}  // namespace rnnlab
