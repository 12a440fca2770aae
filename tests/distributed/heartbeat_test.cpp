// SPDX-License-Identifier: Apache-2.0
// Tests what a process believes of what it reads in the store: only what a rank may say. These launches have no secret,
// so that everybody may write.
#include "distributed/heartbeat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "distributed/store.h"

namespace rnnlab {
namespace {

using std::chrono::milliseconds;

std::vector<uint8_t> raw_bytes(const std::string& text) { return {text.begin(), text.end()}; }

class HeartbeatOfTwo : public ::testing::Test {
 protected:
  StorePointer open() const {
    Launch launch;
    launch.size = 2;
    launch.address = "127.0.0.1";
    launch.port = server_.port();
    launch.launcher_hosts_store = true;
    return open_store(launch, {.name_of_run = "test", .timeout = std::chrono::seconds(5)});
  }
  void write(const std::string& key, const std::string& text) const { store_->set(key, raw_bytes(text)); }

  // Returns the state after some rounds.
  static RunStatus after_rounds(Heartbeat& heartbeat, int64_t count) {
    const int64_t end = heartbeat.status().num_rounds + count;
    return heartbeat.poll_until(milliseconds(5000), [&](const RunStatus& now) { return now.num_rounds >= end; });
  }

  const LocalStore server_;
  const StorePointer store_ = open();
};

const std::string kForged = "process 7 of x";

TEST_F(HeartbeatOfTwo, TakesTheFailureOfARank) {
  write("failure", "1\n3\nprocess 7 of x\nx.csv: no such file");
  const RankFailure failure = failure_in(*store_, 2).value();
  EXPECT_EQ(failure.rank, 1);
  EXPECT_EQ(failure.exit_code, ExitCode::kData);
  EXPECT_EQ(failure.process, "process 7 of x");
  EXPECT_EQ(failure.message, "x.csv: no such file");
}

TEST_F(HeartbeatOfTwo, TakesNoFailureThatNoRankCanHave) {
  for (const char* wrong : {"",
                            "\n",
                            "\n\n\n",
                            "1",
                            "1\n4",
                            "1\n4\nx",
                            "2\n4\nx\ny",
                            "999999\n4\nx\ny",
                            "-1\n4\nx\ny",
                            "1.0\n4\nx\ny",
                            "0x1\n4\nx\ny",
                            " 1\n4\nx\ny",
                            "99999999999999999999\n4\nx\ny",
                            "one\n4\nx\ny",
                            "\n4\nx\ny",
                            "1\n0\nx\ny",
                            "1\n256\nx\ny",
                            "1\n-4\nx\ny",
                            "1\n8\nx\ny",
                            "1\n75\nx\ny",
                            "1\n128\nx\ny",
                            "1\n193\nx\ny",
                            "1\n\nx\ny",
                            "1\nfour\nx\ny",
                            "1\n4294967300\nx\ny",
                            "1\n4\nx\ny\nz"}) {
    write("failure", wrong);
    EXPECT_FALSE(failure_in(*store_, 2)) << wrong;
  }
  write("failure", std::string("1\0004\n4\nx\ny", 9));
  EXPECT_FALSE(failure_in(*store_, 2)) << "a NUL byte in a number";
}

TEST_F(HeartbeatOfTwo, TakesEveryExitCodeOfAFailure) {
  for (const int code : {1, 2, 3, 4, 5, 6, 7, 129, 130, 138, 141, 143, 152}) {
    write("failure", fmt::format("0\n{}\nx\ny", code));
    EXPECT_EQ(static_cast<int>(failure_in(*store_, 2).value().exit_code), code);
  }
}

TEST_F(HeartbeatOfTwo, CutsTextsAndShowsTheirControlCharacters) {
  write("failure", "0\n4\n" + std::string(5000, 'p') + "\n\x1b[2J" + std::string(1 << 20, 'm'));
  const RankFailure failure = failure_in(*store_, 2).value_or(RankFailure{});
  EXPECT_LE(failure.process.size(), 480U);
  EXPECT_LE(failure.message.size(), 4U * 4096U);
  write("failure", "0\n4\nprocess\a\n\x1b[2Jx");
  EXPECT_EQ(failure_in(*store_, 2).value().message, "\\x1b[2Jx");
  EXPECT_EQ(failure_in(*store_, 2).value().process, "process\\x07");
}

TEST_F(HeartbeatOfTwo, StoresAMessageOfSeveralLinesAsOne) {
  put_failure(*store_, {.rank = 1, .exit_code = ExitCode::kData, .message = "wrong\n  reduce it\n", .process = "p"}, 2);
  EXPECT_EQ(failure_in(*store_, 2).value().message, "wrong; reduce it");
}

TEST_F(HeartbeatOfTwo, ReplacesAFailureThatNoRankCanHave) {
  write("failure", "999999\n4\nx\ny");
  put_failure(*store_, {.rank = 1, .exit_code = ExitCode::kData, .message = "true", .process = "p"}, 2);
  EXPECT_EQ(failure_in(*store_, 2).value().message, "true");
  put_failure(*store_, {.rank = 0, .exit_code = ExitCode::kDevice, .message = "later", .process = "p"}, 2);
  EXPECT_EQ(failure_in(*store_, 2).value().message, "true") << "the first failure counts";
}

TEST_F(HeartbeatOfTwo, ReportsThoughAStrangerHasClaimedTheReport) {
  for (const char* wrong : {"", "7\nthe message", "x\nthe message", "1", "1\n", "1\n2\n3"}) {
    write("told", wrong);
    EXPECT_TRUE(claim_report(*store_, 1, 2, "the message")) << wrong;
    store_->deleteKey("told");
  }
  write("told", "0\nrank 1 of 2 failed: the message");
  EXPECT_FALSE(claim_report(*store_, 1, 2, "the message"));
}

TEST_F(HeartbeatOfTwo, TakesTheHeartbeatOfARank) {
  Heartbeat heartbeat(*store_, 0, 2);
  write("beat/1", kForged + "|writes|12|3");
  const RunStatus status =
      heartbeat.poll_until(milliseconds(5000), [](const RunStatus& now) { return now.ranks[1].writes_files; });
  EXPECT_EQ(status.ranks[1].process, kForged);
  EXPECT_EQ(status.ranks[1].num_operations, 12);
}

// What is not a heartbeat changes nothing, so the rank counts as silent.
TEST_F(HeartbeatOfTwo, TakesNoHeartbeatThatNoRankSends) {
  Heartbeat heartbeat(*store_, 0, 2);
  write("beat/1", kForged + "|trains|12|3");
  heartbeat.poll_until(milliseconds(5000), [](const RunStatus& now) { return !now.ranks[1].process.empty(); });
  for (const std::string& wrong :
       {std::string(), std::string("|"), kForged, kForged + "|sleeps|13|4", kForged + "|trains|-1|4",
        kForged + "|trains|13", kForged + "|trains|13|x", kForged + "|trains|99999999999999999999|4",
        kForged + "|trains|13|4|5", std::string("|trains|13|4"), std::string(1 << 20, '|'), std::string(100, '\0')}) {
    write("beat/1", wrong);
    const RunStatus status = after_rounds(heartbeat, 2);
    EXPECT_EQ(status.ranks[1].process, kForged) << wrong.substr(0, 50);
    EXPECT_EQ(status.ranks[1].num_operations, 12) << wrong.substr(0, 50);
    EXPECT_FALSE(status.is_store_gone);
  }
}

TEST_F(HeartbeatOfTwo, SurvivesKeysThatAreDeleted) {
  Heartbeat heartbeat(*store_, 0, 2);
  for (int i = 0; i < 200; ++i) {
    write("failure", "x");
    store_->deleteKey("failure");
    store_->deleteKey("beat/0");
  }
  EXPECT_FALSE(after_rounds(heartbeat, 2).is_store_gone);
}

TEST(ThisProcess, IsOneWordOfAHeartbeat) { EXPECT_EQ(this_process().find('|'), std::string::npos); }

}  // namespace
}  // namespace rnnlab
