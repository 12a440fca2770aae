#include "data/permutation.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <vector>

namespace rnnlab {
namespace {

using testing::ElementsAre;

std::vector<int64_t> items(const at::Tensor& order) {
  const auto* data = order.const_data_ptr<int64_t>();
  return {data, data + order.numel()};
}

TEST(Permutation, HasTheSameOrderOnEveryMachine) {
  EXPECT_THAT(items(permutation(10, 1, 0)), ElementsAre(0, 8, 1, 4, 2, 3, 6, 9, 7, 5));
  EXPECT_THAT(items(permutation(10, 1, 1)), ElementsAre(3, 4, 6, 9, 0, 5, 1, 2, 8, 7));
  EXPECT_THAT(items(permutation(10, 2, 0)), ElementsAre(8, 9, 3, 4, 2, 7, 1, 0, 6, 5));
}

TEST(Permutation, HoldsEverySampleOnce) {
  std::vector<int64_t> order = items(permutation(1000, 7, 3));
  std::ranges::sort(order);
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(Permutation, OfNoneOrOneSampleIsPlain) {
  EXPECT_THAT(items(permutation(0, 1, 0)), ElementsAre());
  EXPECT_THAT(items(permutation(1, 1, 0)), ElementsAre(0));
}

TEST(Permutation, EveryOrderOfThreeComesAboutEquallyOften) {
  std::map<std::vector<int64_t>, int> counts;
  for (int64_t epoch = 0; epoch < 6000; ++epoch) ++counts[items(permutation(3, 5, epoch))];
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 150);  // five standard deviations
}

}  // namespace
}  // namespace rnnlab
