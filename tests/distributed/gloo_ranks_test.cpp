#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "distributed/ranks.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

Launch launch_of_rank(int64_t rank, int64_t size, const LocalStore& store) {
  Launch launch;
  launch.rank = rank;
  launch.size = size;
  launch.address = "127.0.0.1";
  launch.port = store.port();
  launch.launcher_hosts_store = true;
  return launch;
}

// As many ranks as threads of this process.
void as_ranks(int64_t size, const std::function<void(Ranks&)>& work) {
  const LocalStore store;
  std::vector<std::jthread> threads;
  for (int64_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] { work(*make_gloo_ranks(launch_of_rank(rank, size, store), {.name = "test"})); });
}

TEST(GlooRanks, AddUp) {
  as_ranks(3, [](Ranks& ranks) {
    at::Tensor values = at::full({5}, static_cast<double>(ranks.rank() + 1), at::kFloat);
    ranks.add_up(values);
    EXPECT_EQ(values.sum().item<double>(), 5 * (1 + 2 + 3));
  });
}

TEST(GlooRanks, GatherInTheirOrder) {
  as_ranks(3, [](Ranks& ranks) {
    const at::Tensor all = ranks.gather(at::full({2}, ranks.rank(), at::kLong));
    EXPECT_EQ(all.sizes(), (at::IntArrayRef{3, 2}));
    EXPECT_THAT(std::vector<int64_t>(all.data_ptr<int64_t>(), all.data_ptr<int64_t>() + 6),
                ElementsAre(0, 0, 1, 1, 2, 2));
  });
}

TEST(GlooRanks, GatherTexts) {
  as_ranks(2, [](Ranks& ranks) {
    EXPECT_THAT(ranks.gather_texts(ranks.is_first() ? "first" : ""), ElementsAre("first", ""));
    EXPECT_THAT(ranks.gather_texts("again"), ElementsAre("again", "again"));
  });
}

TEST(GlooRanks, NameThoseThatDoNotCome) {
  const LocalStore store;
  const RanksOptions options = {.start_timeout = std::chrono::milliseconds(200), .name = "test"};
  EXPECT_EQ(refusal_of([&] { make_gloo_ranks(launch_of_rank(1, 3, store), options); }),
            "after 0 s 2 of 3 processes of this run are missing: rank 0, rank 2");
}

TEST(GlooRanks, FailWhereOneLeaves) {
  as_ranks(2, [](Ranks& ranks) {
    if (ranks.is_first()) return;
    at::Tensor values = at::full({5}, 1.0, at::kFloat);
    EXPECT_THAT(refusal_of([&] { ranks.add_up(values); }),
                ::testing::ContainsRegex("rank 0 of 2 \\(process [0-9]+ of .*\\) gave no sign"));
  });
}

TEST(GlooRanks, EndWithWhatTheFirstToFailSays) {
  as_ranks(3, [](Ranks& ranks) {
    if (ranks.rank() == 1) return ranks.tell_failure(ExitCode::kData, "x.csv: no such file");
    at::Tensor values = at::full({5}, 1.0, at::kFloat);
    try {
      ranks.add_up(values);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const RankFailed& failure) {
      EXPECT_EQ(failure.exit_code(), ExitCode::kData);
      EXPECT_STREQ(failure.what(), "rank 1 of 3 failed: x.csv: no such file");
    }
  });
}

TEST(GlooRanks, HearFromTheirStarterOfOneThatWasKilled) {
  LocalStore store;
  std::jthread killed([&] { make_gloo_ranks(launch_of_rank(0, 2, store), {.name = "test"}); });
  const auto other = make_gloo_ranks(launch_of_rank(1, 2, store), {.name = "test"});
  killed.join();
  store.tell_failure("test", ExitCode::kDevice, "rank 0 was killed");
  at::Tensor values = at::full({5}, 1.0, at::kFloat);
  EXPECT_EQ(refusal_of([&] { other->add_up(values); }), "rank 0 was killed");
}

TEST(GlooRanks, CannotReachAStoreThatIsNotThere) {
  Launch launch = launch_of_rank(0, 2, LocalStore());
  const RanksOptions options = {.start_timeout = std::chrono::milliseconds(200), .name = "test"};
  EXPECT_THAT(refusal_of([&] { make_gloo_ranks(launch, options); }),
              HasSubstr("rank 0 of 2 cannot reach the store of its run at 127.0.0.1:"));
}

}  // namespace
}  // namespace rnnlab
