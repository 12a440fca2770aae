// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "base/error.h"
#include "train/ranks/ranks.h"
#include "train/ranks/store.h"

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

Launch launch_with_own_store(int64_t rank, int64_t size, int64_t port) {
  Launch launch;
  launch.rank = rank;
  launch.size = size;
  launch.address = "127.0.0.1";
  launch.port = port;
  return launch;
}

Launch launch_of_rank(int64_t rank, int64_t size, const LocalStore& store) {
  Launch launch = launch_with_own_store(rank, size, store.port());
  launch.launcher_hosts_store = true;
  launch.secret = store.secret();
  return launch;
}

// LibTorch's flight recorder has one map for the process without a lock, so ranks that are threads must not record.
const bool kRecorderIsOff = ::setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1) == 0;

// Runs `work` as each of `size` ranks, which are threads of this process.
void as_ranks(int64_t size, const RanksOptions& options, const std::function<void(Ranks&)>& work) {
  const LocalStore store;
  std::vector<std::jthread> threads;
  for (int64_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        work(*connect_ranks(launch_of_rank(rank, size, store), options));
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
}

void as_ranks(int64_t size, const std::function<void(Ranks&)>& work) { as_ranks(size, {.name = "test"}, work); }

// Returns the sum of five values of each rank.
double add_up(Ranks& ranks, int64_t value = 1) {
  at::Tensor values = at::full({5}, static_cast<double>(value), at::kFloat);
  ranks.all_reduce(values);
  return values.sum().item<double>();
}

TEST(Ranks, AddUp) {
  as_ranks(3, [](Ranks& ranks) { EXPECT_EQ(add_up(ranks, ranks.rank() + 1), 5 * (1 + 2 + 3)); });
}

TEST(Ranks, GatherInTheirOrder) {
  as_ranks(3, [](Ranks& ranks) {
    const at::Tensor all = ranks.all_gather(at::full({2}, ranks.rank(), at::kLong));
    EXPECT_EQ(all.sizes(), (at::IntArrayRef{3, 2}));
    EXPECT_THAT(std::vector<int64_t>(all.data_ptr<int64_t>(), all.data_ptr<int64_t>() + 6),
                ElementsAre(0, 0, 1, 1, 2, 2));
  });
}

TEST(Ranks, GatherTexts) {
  as_ranks(2, [](Ranks& ranks) {
    EXPECT_THAT(ranks.all_gather_texts(ranks.is_first() ? "first" : ""), ElementsAre("first", ""));
    EXPECT_THAT(ranks.all_gather_texts("again"), ElementsAre("again", "again"));
  });
}

TEST(Ranks, WaitForWorkOfTheirOwnAsLongAsItTakes) {
  as_ranks(2, [](Ranks& ranks) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ranks.is_first() ? 700 : 0);
    ranks.wait_for([&] { return std::chrono::steady_clock::now() > end; });
    EXPECT_GE(std::chrono::steady_clock::now(), end);
    ranks.all_gather_texts("both came");
  });
}

TEST(Ranks, WaitNoMoreForWorkOnceAnotherHasFailed) {
  as_ranks(2, [](Ranks& ranks) {
    ranks.all_gather_texts("both came");
    if (ranks.is_first()) return ranks.post_failure(ExitCode::kData, "x.csv: no such file");
    EXPECT_THAT(refusal_of([&] { ranks.wait_for([] { return false; }); }), HasSubstr("x.csv: no such file"));
  });
}

TEST(Ranks, TellWhatTheirOwnWorkThrows) {
  as_ranks(2, [](Ranks& ranks) {
    ranks.all_gather_texts("both came");
    EXPECT_THROW(ranks.wait_for([]() -> bool { throw std::domain_error("an illegal address"); }), std::domain_error);
    ranks.post_failure(ExitCode::kDevice, "an illegal address");
  });
}

// A launcher would end the first rank when the other has ended.
TEST(Ranks, LetTheFirstWriteItsFilesBeforeTheyTell) {
  std::atomic<bool> is_written = false;
  as_ranks(2, [&](Ranks& ranks) {
    if (ranks.is_first()) {
      const WritingFiles writing(ranks);
      ranks.all_gather_texts("both came");
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      is_written = true;
      return;
    }
    ranks.all_gather_texts("both came");
    ranks.claim_report("the loss is not a number");
    EXPECT_TRUE(is_written);
  });
}

TEST(Ranks, NameThoseThatDoNotCome) {
  const LocalStore store;
  const RanksOptions options = {.start_timeout = std::chrono::seconds(2), .name = "test"};
  EXPECT_THAT(refusal_of([&] { connect_ranks(launch_of_rank(1, 3, store), options); }),
              ::testing::ContainsRegex("after [0-9]+ s 2 of 3 processes of this run are missing: rank 0, rank 2$"));
}

TEST(Ranks, FailWhereOneLeaves) {
  as_ranks(2, [](Ranks& ranks) {
    if (ranks.is_first()) return;
    ranks.set_step(7);
    EXPECT_THAT(refusal_of([&] { add_up(ranks); }),
                ::testing::ContainsRegex("rank 1 of 2 \\(process [0-9]+ of .*\\) lost its connection to rank 0 of 2 "
                                         "\\(process [0-9]+ of .*\\)"));
  });
}

const RanksOptions kShortTimeout = {.timeout = std::chrono::seconds(1), .name = "test"};

// The rank waits until the other rank is done, for any time.
class Gate {
 public:
  void open() { promise_.set_value(); }
  void wait() { opened_.wait(); }

 private:
  std::promise<void> promise_;
  std::shared_future<void> opened_ = promise_.get_future().share();
};

TEST(Ranks, NameOneThatLivesAndDoesNotCome) {
  Gate gate;
  as_ranks(2, kShortTimeout, [&](Ranks& ranks) {
    if (ranks.rank() == 1) return gate.wait();
    EXPECT_THAT(
        refusal_of([&] { add_up(ranks); }),
        ::testing::ContainsRegex("rank 1 of 2 \\(process .*\\) responds, but did not finish its work within 1 s"));
    gate.open();
  });
}

// Writing may take three times the timeout while the rank sends heartbeats: the disk may be slow.
TEST(Ranks, WaitForOneThatWritesFiles) {
  as_ranks(2, kShortTimeout, [&](Ranks& ranks) {
    if (ranks.is_first()) {
      const WritingFiles writing(ranks);
      std::this_thread::sleep_for(std::chrono::seconds(2));  // longer than the timeout
    }
    EXPECT_EQ(add_up(ranks), 10);
  });
}

// The process that holds the store learns of the failure first, and leaves last.
TEST(Ranks, HearOfAFailureThoughRank0HoldsTheStore) {
  int64_t port = 0;
  {
    const LocalStore free_now;
    port = free_now.port();
  }
  std::vector<std::jthread> threads;
  for (int64_t rank = 0; rank < 3; ++rank)
    threads.emplace_back([rank, port] {
      const auto ranks = connect_ranks(launch_with_own_store(rank, 3, port), {.name = "test"});
      add_up(*ranks);  // all have joined
      if (rank == 1) return ranks->post_failure(ExitCode::kData, "x.csv: no such file");
      if (rank == 2) std::this_thread::sleep_for(std::chrono::seconds(1));
      EXPECT_THAT(refusal_of([&] { add_up(*ranks); }), HasSubstr("failed: x.csv: no such file"));
    });
}

TEST(Ranks, SayThatTheirPortIsTaken) {
  const LocalStore other;
  EXPECT_EQ(refusal_of([&] { connect_ranks(launch_with_own_store(0, 3, other.port()), {.name = "test"}); }),
            fmt::format("127.0.0.1:{} is used by another program, but the processes of this run need it to connect: "
                        "set MASTER_PORT to a free port for all of them",
                        other.port()));
}

TEST(Ranks, LetOneOfThemTell) {
  std::atomic<int> num_telling = 0;
  as_ranks(3, [&](Ranks& ranks) { num_telling += ranks.claim_report("the file is missing") ? 1 : 0; });
  EXPECT_EQ(num_telling, 1);
}

TEST(Ranks, LetAnotherTellWhereRank0IsSilent) {
  std::atomic<int> num_telling = 0;
  as_ranks(3, [&](Ranks& ranks) {
    ranks.all_gather_texts("all have connected");
    if (!ranks.is_first()) num_telling += ranks.claim_report("rank 0 was killed") ? 1 : 0;
  });
  EXPECT_EQ(num_telling, 1);
}

TEST(Ranks, TellBeforeTheyJoin) {
  LocalStore store;
  std::atomic<int> num_telling = 0;
  std::vector<std::jthread> threads;
  for (int64_t rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      const UserError failure(ExitCode::kUsage, "a.yaml: no such file");
      num_telling += claim_report_before_joining(launch_of_rank(rank, 3, store), "test", {}, failure) ? 1 : 0;
    });
  threads.clear();
  EXPECT_EQ(num_telling, 1);
}

TEST(Ranks, HearOfOneThatFailsBeforeItJoins) {
  LocalStore store;
  std::jthread failing([&] {
    const UserError failure(ExitCode::kUsage, "a.yaml: no such file");
    // Which rank reports is not tested: rank 1 waits 3 s for rank 0, but LibTorch can ask a slow name server for 5 s
    // while rank 0 connects.
    static_cast<void>(claim_report_before_joining(launch_of_rank(1, 2, store), "test", {}, failure));
  });
  EXPECT_THAT(refusal_of([&] { connect_ranks(launch_of_rank(0, 2, store), {.name = "test"}); }),
              ::testing::ContainsRegex("rank 1 of 2 \\(process .*\\) failed: a.yaml: no such file"));
}

TEST(Ranks, EndWithWhatTheFirstToFailSays) {
  as_ranks(3, [](Ranks& ranks) {
    add_up(ranks);  // all have joined
    if (ranks.rank() == 1) return ranks.post_failure(ExitCode::kData, "x.csv: no such file");
    try {
      add_up(ranks);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const RankFailed& failure) {
      EXPECT_EQ(failure.exit_code(), ExitCode::kData);
      EXPECT_THAT(failure.what(), ::testing::ContainsRegex("^rank 1 of 3 .* failed: x.csv: "));
    }
  });
}

TEST(Ranks, HearFromTheirStarterOfOneThatWasKilled) {
  LocalStore store;
  std::jthread killed([&] { connect_ranks(launch_of_rank(0, 2, store), {.name = "test"}); });
  const auto other = connect_ranks(launch_of_rank(1, 2, store), {.name = "test"});
  killed.join();
  store.post_failure("test", 0, ExitCode::kDevice, "it was killed");
  EXPECT_THAT(refusal_of([&] { add_up(*other); }),
              ::testing::ContainsRegex("^rank 0 of 2 \\(process [0-9]+ of .*\\) failed: it was killed$"));
}

// Without a secret, a stranger has the same keys as the ranks.
StorePointer open_as_stranger(Launch launch) {
  launch.secret = "";
  return open_store(launch, {.name_of_run = "test", .timeout = std::chrono::seconds(5)});
}

// Returns the exit code with which rank 0 ends after rank 1 has failed with code 3.
int exit_code_beside_stranger(Ranks& ranks, c10d::Store& stranger) {
  for (const char* written : {"999999\n4\nx\ny", "1\n256\nme\nall fine", "1\n0\nme\nall fine", "garbage", ""}) {
    for (const char* key : {"failure", "told", "beat/0", "beat/1"}) stranger.set(key, std::string(written));
    stranger.deleteKey("beat/0");
    add_up(ranks);
  }
  if (ranks.rank() == 1) {
    ranks.post_failure(ExitCode::kData, "x.csv: no such file");
    return static_cast<int>(ExitCode::kData);
  }
  add_up(ranks);
  return static_cast<int>(ExitCode::kDone);
}

TEST(Ranks, TrainOnWhateverAStrangerWrites) {
  const LocalStore store;
  const StorePointer stranger = open_as_stranger(launch_of_rank(0, 2, store));
  std::vector<std::jthread> threads;
  for (int64_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Launch launch = launch_of_rank(rank, 2, store);
      launch.secret = "";
      try {
        EXPECT_EQ(exit_code_beside_stranger(*connect_ranks(launch, {.name = "test"}), *stranger->clone()), 3);
      } catch (const UserError& failure) {
        EXPECT_EQ(failure.exit_code(), ExitCode::kData) << failure.what();
      }
    });
}

TEST(Ranks, WithASecretDoNotMeetThoseWithAnother) {
  const LocalStore store;
  Launch other = launch_of_rank(1, 2, store);
  other.launcher = Launcher::kTorchrun;
  other.secret = "another secret of 16 bytes";
  std::jthread rank([&] {
    EXPECT_NE(refusal_of([&] {
                connect_ranks(launch_of_rank(0, 2, store), {.start_timeout = std::chrono::seconds(4), .name = "test"});
              }),
              "");
  });
  const RanksOptions options = {.start_timeout = std::chrono::seconds(2), .name = "test"};
  EXPECT_THAT(
      refusal_of([&] { connect_ranks(other, options); }),
      ::testing::ContainsRegex("after [0-9]+ s 1 of 2 processes of this run are missing: rank 0; they must have "
                               "the same RNNLAB_LAUNCH_SECRET$"));
}

TEST(Ranks, CannotReachAStoreThatIsNotThere) {
  Launch launch = launch_of_rank(0, 2, LocalStore());
  const RanksOptions options = {.start_timeout = std::chrono::milliseconds(200), .name = "test"};
  EXPECT_THAT(refusal_of([&] { connect_ranks(launch, options); }),
              HasSubstr("rank 0 of 2 cannot reach the store of its run at 127.0.0.1:"));
}

}  // namespace
}  // namespace rnnlab
