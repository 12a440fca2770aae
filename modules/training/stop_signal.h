// SIGINT and SIGTERM ask what is under way to end at the next good moment, such as after a training step; a second one
// kills at once, as if unhandled. The handler only stores a number, on a stack of its own: the code that oneDNN
// generates keeps data below the stack pointer, where a handler on the same stack would write over it. One guard at a
// time, on the main thread, which is the one that gets the signals.
#pragma once

#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

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
  std::vector<std::byte> handler_stack_;
  stack_t previous_stack_ = {};
  struct sigaction previous_interrupt_ = {};
  struct sigaction previous_terminate_ = {};
};

}  // namespace rnnlab
