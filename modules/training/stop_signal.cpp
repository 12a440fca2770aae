#include "training/stop_signal.h"

#include <atomic>

#include "base/error.h"

namespace rnnlab {
namespace {

std::atomic<int> stop_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

constexpr size_t kHandlerStackBytes = 64 << 10;

extern "C" void remember_stop_signal(int signal_number) {
  stop_signal.store(signal_number, std::memory_order_relaxed);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

std::optional<StopRequest> pending_stop() {
  switch (stop_signal.load(std::memory_order_relaxed)) {
    case SIGINT:
      return StopRequest{StopReason::kInterrupted, "interrupted (SIGINT)"};
    case SIGTERM:
      return StopRequest{StopReason::kTerminated, "terminated (SIGTERM)"};
    default:
      return std::nullopt;
  }
}

StopSignalGuard::StopSignalGuard() : handler_stack_(kHandlerStackBytes) {
  stop_signal.store(0, std::memory_order_relaxed);
  const stack_t stack = {.ss_sp = handler_stack_.data(), .ss_flags = 0, .ss_size = handler_stack_.size()};
  const bool has_stack = sigaltstack(&stack, &previous_stack_) == 0;
  RNNLAB_INVARIANT(has_stack, "no stack for the handler of signals");
  struct sigaction action = {};
  action.sa_handler = remember_stop_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;  // a write of results that is under way goes on
  sigemptyset(&action.sa_mask);
  const bool handles =
      sigaction(SIGINT, &action, &previous_interrupt_) == 0 && sigaction(SIGTERM, &action, &previous_terminate_) == 0;
  RNNLAB_INVARIANT(handles, "SIGINT and SIGTERM cannot be handled");
}

StopSignalGuard::~StopSignalGuard() {
  sigaction(SIGINT, &previous_interrupt_, nullptr);
  sigaction(SIGTERM, &previous_terminate_, nullptr);
  sigaltstack(&previous_stack_, nullptr);
  stop_signal.store(0, std::memory_order_relaxed);  // nobody's business any more
}

}  // namespace rnnlab
