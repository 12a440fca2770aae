// SPDX-License-Identifier: Apache-2.0
// The operations of one process that trains alone, beside those of one of two.
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "base/expect_error.h"
#include "train/ranks/fake_ranks.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SoleRank, NeedsOnlyWhatIsWanted) {
  const FakeRanks two(0, 2);
  EXPECT_EQ(sole_rank().one_each(std::nullopt), std::nullopt);
  EXPECT_EQ(two.one_each(std::nullopt), 2);
  EXPECT_EQ(sole_rank().one_each(4), 4);
  EXPECT_EQ(two.one_each(4), 4);
}

TEST(SoleRank, HasNothingToSayOfOtherRanks) {
  const FakeRanks two(1, 2);
  EXPECT_FALSE(sole_rank().of_several(0.5));
  EXPECT_EQ(two.of_several(0.5), 0.5);
  EXPECT_TRUE(sole_rank().is_known_on_all(true)) << "its clock is the only one";
  EXPECT_FALSE(two.is_known_on_all(true));
  EXPECT_FALSE(sole_rank().is_known_on_all(false));
}

// What is not needed may be slow or fail, such as a fingerprint of all weights.
TEST(SoleRank, DoesNotAskForWhatItDoesNotNeed) {
  const auto is_asked = []() -> at::Tensor { throw std::logic_error("asked"); };
  EXPECT_EQ(sole_rank().gather_to_compare(is_asked).numel(), 0);
  EXPECT_THAT(sole_rank().descriptions([]() -> std::string { throw std::logic_error("asked"); }), IsEmpty());
  sole_rank().connect_gpus([]() -> std::optional<GpuConnection> { throw std::logic_error("asked"); });
  EXPECT_EQ(sole_rank().numbers_of_step(3, []() -> Ranks::NumbersOfRanks { throw std::logic_error("asked"); }),
            std::vector{3.0});
  FakeRanks two(0, 2);
  EXPECT_THROW(two.gather_to_compare(is_asked), std::logic_error);
  EXPECT_THAT(two.descriptions([] { return std::string("cpu"); }), ElementsAre("cpu", "cpu"));
  EXPECT_EQ(two.numbers_of_step(3, [] { return Ranks::NumbersOfRanks(); }), std::nullopt);
}

TEST(SoleRank, GathersItsValuesWithoutACopy) {
  const at::Tensor values = at::ones({3});
  const at::Tensor all = sole_rank().memory_for_all(values);
  EXPECT_TRUE(all.is_alias_of(values));
  values.fill_(2);
  sole_rank().all_gather_into(values, all);
  EXPECT_TRUE(all.equal(at::ones({1, 3}).mul(2)));
  EXPECT_FALSE(FakeRanks(0, 2).memory_for_all(values).is_alias_of(values));
}

TEST(SoleRank, IsTheOneThatWorkOfOneProcessNeeds) {
  EXPECT_NO_THROW(sole_rank().require_sole("x"));
  testing::expect_error(ExitCode::kUsage,
                        "training.carry_state: one process carries, but 2 processes train this run; start one process",
                        [] { FakeRanks(1, 2).require_sole("training.carry_state: one process carries"); });
}

TEST(Ranks, DoSomeWorkOnTheFirstOnly) {
  EXPECT_EQ(FakeRanks(0, 2).on_first([] { return 7; }), 7);
  EXPECT_EQ(FakeRanks(1, 2).on_first([] { return 7; }), 0);
}

}  // namespace
}  // namespace rnnlab
