// SIGINT and SIGTERM ask what is under way to end at the next good moment, such as after a training step; a second one
// kills at once, as if unhandled. The handler only stores a number. One guard at a time; threads other than the
// caller's are not told.
#pragma once

#include <csignal>
#include <optional>
#include <string>

#include "training/training_state.h"

namespace rnnlab {

struct StopRequest {
  StopReason reason = StopReason::kInterrupted;  // or kTerminated
  std::string text;                              // "interrupted (SIGINT)"
};

// The signal that came since the guard was made, if any. Always nothing without a guard.
std::optional<StopRequest> pending_stop();

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
