#include "results/round_order.h"

#include <gmock/gmock.h>

#include <set>

namespace rnnlab::testing {
namespace {

using Order = std::vector<size_t>;
using ::testing::UnorderedElementsAre;

TEST(RoundOrder, HoldsEachSideOnce) {
  for (int64_t round = 1; round <= 6; ++round)
    EXPECT_THAT(order_of_round(7, round, 4), UnorderedElementsAre(0, 1, 2, 3));
  EXPECT_EQ(order_of_round(7, 1, 1), Order{0});
  EXPECT_EQ(order_of_round(7, 1, 0), Order{});
}

TEST(RoundOrder, IsTheSameForTheSameSeed) {
  for (int64_t round = 1; round <= 6; ++round) EXPECT_EQ(order_of_round(3, round, 5), order_of_round(3, round, 5));
}

TEST(RoundOrder, GoesBackwardsInEverySecondRound) {
  for (const int64_t round : {1, 3, 5}) {
    Order back = order_of_round(11, round + 1, 6);
    std::ranges::reverse(back);
    EXPECT_EQ(order_of_round(11, round, 6), back);
  }
}

TEST(RoundOrder, IsDrawnAnewForEachPairOfRounds) {
  std::set<Order> orders;
  for (int64_t round = 1; round <= 39; round += 2) orders.insert(order_of_round(1, round, 6));
  EXPECT_GT(orders.size(), 15u);
}

TEST(SeedOfMeasurement, IsItsHexadecimalNumber) {
  EXPECT_EQ(seed_of_measurement("00000000000000a1"), 0xa1u);
  EXPECT_EQ(seed_of_measurement("ffffffffffffffff"), UINT64_MAX);
}

// Of two sides, each comes first about as often as the other, whatever the seed.
TEST(RoundOrder, FavoursNoSide) {
  int num_first = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) num_first += order_of_round(seed, 1, 2)[0] == 0 ? 1 : 0;
  EXPECT_GT(num_first, 430);
  EXPECT_LT(num_first, 570);
}

}  // namespace
}  // namespace rnnlab::testing
