// SIGINT and SIGTERM ask the training loop to end after its current step; a second one kills at once, as if unhandled.
// The handler only stores a number. One guard at a time; threads other than the caller's are not told.
#pragma once

#include <csignal>

namespace rnnlab {

// The signal that came since the guard was made: SIGINT, SIGTERM or 0. Always 0 without a guard.
int pending_stop_signal();

class StopSignalGuard {
 public:
  StopSignalGuard();
  ~StopSignalGuard();
  StopSignalGuard(const StopSignalGuard&) = delete;
  StopSignalGuard& operator=(const StopSignalGuard&) = delete;

 private:
  struct sigaction previous_interrupt_ = {};
  struct sigaction previous_terminate_ = {};
};

}  // namespace rnnlab
