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
