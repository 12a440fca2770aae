#include "training/stop_signal.h"

#include <gtest/gtest.h>

namespace rnnlab {
namespace {

TEST(StopSignals, AreRemembered) {
  const StopSignalGuard guard;
  EXPECT_FALSE(pending_stop());
  std::raise(SIGTERM);
  ASSERT_TRUE(pending_stop());
  EXPECT_EQ(pending_stop()->reason, StopReason::kTerminated);
  EXPECT_EQ(pending_stop()->text, "terminated (SIGTERM)");
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
  const StopSignalGuard guard;
  std::raise(first);
  std::raise(second);
}

TEST(StopSignalsDeathTest, ASecondSignalKills) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(raise_twice(SIGINT, SIGINT), ::testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(raise_twice(SIGINT, SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace rnnlab
