// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/run_failure.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "train/ranks/store_of_two.h"

namespace rnnlab {
namespace {

using RunFailure = StoreOfTwo;

TEST_F(RunFailure, TakesTheFailureOfARank) {
  write("failure", "1\n3\nprocess 7 of x\nx.csv: no such file");
  const RankFailure failure = failure_in(*store_, 2).value();
  EXPECT_EQ(failure.rank, 1);
  EXPECT_EQ(failure.exit_code, ExitCode::kData);
  EXPECT_EQ(failure.process, "process 7 of x");
  EXPECT_EQ(failure.message, "x.csv: no such file");
}

TEST_F(RunFailure, TakesNoFailureThatNoRankCanHave) {
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

TEST_F(RunFailure, TakesEveryExitCodeOfAFailure) {
  for (const int code : {1, 2, 3, 4, 5, 6, 7, 129, 130, 138, 141, 143, 152}) {
    write("failure", fmt::format("0\n{}\nx\ny", code));
    EXPECT_EQ(static_cast<int>(failure_in(*store_, 2).value().exit_code), code);
  }
}

TEST_F(RunFailure, CutsTextsAndShowsTheirControlCharacters) {
  write("failure", "0\n4\n" + std::string(5000, 'p') + "\n\x1b[2J" + std::string(1 << 20, 'm'));
  const RankFailure failure = failure_in(*store_, 2).value_or(RankFailure{});
  EXPECT_LE(failure.process.size(), 480U);
  EXPECT_LE(failure.message.size(), 4U * 4096U);
  write("failure", "0\n4\nprocess\a\n\x1b[2Jx");
  EXPECT_EQ(failure_in(*store_, 2).value().message, "\\x1b[2Jx");
  EXPECT_EQ(failure_in(*store_, 2).value().process, "process\\x07");
}

TEST_F(RunFailure, StoresAMessageOfSeveralLinesAsOne) {
  put_failure(*store_, {.rank = 1, .exit_code = ExitCode::kData, .message = "wrong\n  reduce it\n", .process = "p"}, 2);
  EXPECT_EQ(failure_in(*store_, 2).value().message, "wrong; reduce it");
}

TEST_F(RunFailure, ReplacesAFailureThatNoRankCanHave) {
  write("failure", "999999\n4\nx\ny");
  put_failure(*store_, {.rank = 1, .exit_code = ExitCode::kData, .message = "true", .process = "p"}, 2);
  EXPECT_EQ(failure_in(*store_, 2).value().message, "true");
  put_failure(*store_, {.rank = 0, .exit_code = ExitCode::kDevice, .message = "later", .process = "p"}, 2);
  EXPECT_EQ(failure_in(*store_, 2).value().message, "true") << "the first failure counts";
}

TEST_F(RunFailure, CountsAReportThatARankCanHaveClaimed) {
  EXPECT_FALSE(is_report_claimed(*store_, 2));
  write("told", "7\nthe message");
  EXPECT_FALSE(is_report_claimed(*store_, 2));
  write("told", "1\nthe message");
  EXPECT_TRUE(is_report_claimed(*store_, 2));
}

TEST_F(RunFailure, ReportsThoughAStrangerHasClaimedTheReport) {
  for (const char* wrong : {"", "7\nthe message", "x\nthe message", "1", "1\n", "1\n2\n3"}) {
    write("told", wrong);
    EXPECT_TRUE(claim_report(*store_, 0, 2, "the message")) << wrong;
    store_->deleteKey("told");
  }
  write("told", "0\nrank 1 of 2 failed: the message");
  EXPECT_FALSE(claim_report(*store_, 1, 2, "the message"));
}

TEST(ThisProcess, IsOneWordOfAHeartbeat) { EXPECT_EQ(this_process().find('|'), std::string::npos); }

}  // namespace
}  // namespace rnnlab
