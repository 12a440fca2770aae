// SPDX-License-Identifier: Apache-2.0
#include "train/loop/stop_signal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <map>

#include "golden.h"

namespace rnnlab {
namespace {

TEST(StopSignals, AreRemembered) {
  const StopSignalGuard guard;
  EXPECT_FALSE(pending_stop());
  std::raise(SIGTERM);
  ASSERT_TRUE(pending_stop());
  EXPECT_EQ(pending_stop()->exit_code, ExitCode::kTerminated);
  EXPECT_EQ(pending_stop()->text, "terminated (SIGTERM)");
}

TEST(StopSignals, AreAllThatUsuallyComeBeforeAKill) {
  const std::map<int, std::string> texts = {{SIGINT, "interrupted (SIGINT)"},
                                            {SIGTERM, "terminated (SIGTERM)"},
                                            {SIGHUP, "hung up (SIGHUP)"},
                                            {SIGXCPU, "out of processor time (SIGXCPU)"},
                                            {SIGUSR1, "asked to stop (SIGUSR1)"}};
  for (const auto& [number, text] : texts) {
    const StopSignalGuard guard;
    std::raise(number);
    ASSERT_TRUE(pending_stop());
    EXPECT_EQ(pending_stop()->text, text);
    EXPECT_EQ(static_cast<int>(pending_stop()->exit_code), 128 + number);
  }
}

// nohup ignores a signal, and so do background jobs of a script.
TEST(StopSignals, ThatWereIgnoredStayIgnored) {
  const auto previous = std::signal(SIGHUP, SIG_IGN);
  {
    const StopSignalGuard guard;
    std::raise(SIGHUP);
    EXPECT_FALSE(pending_stop());
  }
  EXPECT_EQ(std::signal(SIGHUP, previous), SIG_IGN);
}

// A terminal that closes sends SIGHUP twice, and a process beyond its limit of processor time gets SIGXCPU every
// second; a batch system may send SIGTERM after SIGUSR1.
TEST(StopSignals, OfOtherKindsMayComeTwiceAndTheFirstOneCounts) {
  const StopSignalGuard guard;
  for (const int number : {SIGUSR1, SIGUSR1, SIGHUP, SIGHUP, SIGXCPU, SIGXCPU, SIGTERM, SIGHUP}) std::raise(number);
  EXPECT_EQ(pending_stop()->text, "asked to stop (SIGUSR1)");
}

TEST(StopSignals, AreAnnouncedOnce) {
  ::testing::internal::CaptureStderr();
  {
    const StopSignalGuard guard({"the program stops after this test", ""});
    std::raise(SIGHUP);
    std::raise(SIGTERM);
  }
  expect_golden(::testing::internal::GetCapturedStderr());
}

// oneDNN's generated code does not survive a handler on its own stack: training an LSTM on the CPU crashed on Ctrl-C.
TEST(StopSignals, AreHandledOnAStackOfTheirOwn) {
  stack_t before = {}, during = {}, after = {};
  struct sigaction action = {};
  sigaltstack(nullptr, &before);
  {
    const StopSignalGuard guard;
    sigaltstack(nullptr, &during);
    sigaction(SIGINT, nullptr, &action);
  }
  sigaltstack(nullptr, &after);
  EXPECT_TRUE(action.sa_flags & SA_ONSTACK);
  EXPECT_FALSE(during.ss_flags & SS_DISABLE);
  EXPECT_NE(during.ss_sp, before.ss_sp);
  EXPECT_EQ(after.ss_sp, before.ss_sp);
}

TEST(StopSignals, AreForgottenWithTheirGuard) {
  {
    const StopSignalGuard guard;
    std::raise(SIGINT);
    EXPECT_EQ(pending_stop()->text, "interrupted (SIGINT)");
  }
  EXPECT_FALSE(pending_stop());
}

TEST(StopSignals, FindTheirOldHandlersAgain) {
  static volatile std::sig_atomic_t calls = 0;
  const auto previous = std::signal(SIGINT, [](int) { calls = calls + 1; });
  {
    const StopSignalGuard guard;
    std::raise(SIGINT);
    EXPECT_EQ(calls, 0);
  }
  std::raise(SIGINT);
  EXPECT_EQ(calls, 1);
  std::signal(SIGINT, previous);
}

void raise_twice(int first, int second) {
  const StopSignalGuard guard({"", "what was not saved is lost"});
  std::raise(first);
  std::raise(second);
}

TEST(StopSignalsDeathTest, ASecondSignalKills) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(raise_twice(SIGINT, SIGINT), ::testing::KilledBySignal(SIGINT), "rnnlab: ended at once; ");
  EXPECT_EXIT(raise_twice(SIGINT, SIGTERM), ::testing::KilledBySignal(SIGTERM), "rnnlab: ended at once; ");
}

// The pipe is full because no process reads it, so a write to it would wait for ever.
void raise_twice_with_full_stderr() {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  while (::write(ends[1], "x", 1) == 1) {
  }
  ::fcntl(ends[1], F_SETFL, 0);
  ::dup2(ends[1], STDERR_FILENO);
  const StopSignalGuard guard({"stopping", "all is lost"});
  std::raise(SIGTERM);
  std::raise(SIGTERM);
}

TEST(StopSignalsDeathTest, AStderrThatNobodyReadsHoldsUpNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(raise_twice_with_full_stderr(), ::testing::KilledBySignal(SIGTERM), "");
}

TEST(StopDeadlineDeathTest, EndsWorkThatDoesNotAskForSignals) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto work = [] {
    const StopSignalGuard guard;
    const StopDeadline deadline([](const StopRequest& stop) { std::cerr << "last words: " << stop.text << "\n"; });
    std::raise(SIGUSR1);
    while (true) ::pause();
  };
  EXPECT_EXIT(work(), ::testing::ExitedWithCode(138), "asked to stop \\(SIGUSR1\\)");
}

TEST(StopDeadline, LeavesWorkAloneThatEndsSoonAfterASignal) {
  const StopSignalGuard guard;
  {
    const StopDeadline deadline([](const StopRequest&) { FAIL() << "the work had ended"; });
    std::raise(SIGTERM);
  }
  EXPECT_TRUE(pending_stop());
  const StopDeadline next([](const StopRequest&) { FAIL() << "the work had ended"; });
}

}  // namespace
}  // namespace rnnlab
