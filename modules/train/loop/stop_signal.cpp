// SPDX-License-Identifier: Apache-2.0
#include "train/loop/stop_signal.h"

#include <semaphore.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string_view>

#include "base/system/terminal.h"

namespace rnnlab {
namespace {

struct StopSignal {
  int number;
  const char* text;
};

constexpr std::array kStopSignals = {
    StopSignal{SIGINT, "interrupted (SIGINT)"},     StopSignal{SIGTERM, "terminated (SIGTERM)"},
    StopSignal{SIGHUP, "hung up (SIGHUP)"},         StopSignal{SIGXCPU, "out of processor time (SIGXCPU)"},
    StopSignal{SIGUSR1, "asked to stop (SIGUSR1)"},
};
constexpr int kKillingSignals[] = {SIGINT, SIGTERM};  // a second signal of these two kinds ends the process

constexpr size_t kHandlerStackBytes = 64 << 10;
constexpr std::chrono::seconds kGrace{1};

// These variables are set before the handler, which reads them, is installed.
std::atomic<int> first_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");
std::string_view announcement_text, last_words_text;
std::atomic<bool> second_kills = true;
std::atomic<bool> next_kills = false;  // whether the next SIGINT or SIGTERM is the second one

// Wakes the thread of a StopDeadline.
sem_t& wake_up() {
  static sem_t semaphore;
  [[maybe_unused]] static const int is_made = ::sem_init(&semaphore, 0, 0);
  return semaphore;
}

void announce(std::string_view text) {
  if (text.empty()) return;
  if (::isatty(STDERR_FILENO) != 0) write_from_signal_handler("\n");  // after ^C or a progress bar
  write_from_signal_handler(text);
}

// Ends the process by the signal, as if there were no handler. The first process of a container survives that, so it
// exits with the signal's exit code.
[[noreturn]] void end_at_once(int number) {
  announce(last_words_text);
  ::signal(number, SIG_DFL);
  sigset_t only_this;
  sigemptyset(&only_this);
  sigaddset(&only_this, number);
  ::pthread_sigmask(SIG_UNBLOCK, &only_this, nullptr);
  ::raise(number);
  ::_exit(static_cast<int>(exit_code_of_signal(number)));
}

// Counts SIGINT and SIGTERM, and returns whether this is the second one.
bool counts_as_second(int number) {
  const bool is_killing = std::ranges::find(kKillingSignals, number) != std::end(kKillingSignals);
  return is_killing && second_kills.load(std::memory_order_relaxed) &&
         next_kills.exchange(true, std::memory_order_relaxed);
}

// The handler calls only functions that a signal handler may call (signal-safety(7)).
extern "C" void handle_stop_signal(int number) {
  const int saved_errno = errno;
  int none = 0;
  const bool is_first = first_signal.compare_exchange_strong(none, number, std::memory_order_relaxed);
  if (counts_as_second(number)) end_at_once(number);
  if (is_first) {
    ::sem_post(&wake_up());
    announce(announcement_text);
  }
  errno = saved_errno;
}

}  // namespace

std::optional<StopRequest> pending_stop() {
  const int number = first_signal.load(std::memory_order_relaxed);
  const auto found = std::ranges::find(kStopSignals, number, &StopSignal::number);
  if (found == kStopSignals.end()) return std::nullopt;
  return StopRequest{exit_code_of_signal(number), found->text};
}

StopSignalGuard::StopSignalGuard(const StopTexts& texts, SecondSignal second)
    : announcement_(texts.first.empty()
                        ? ""
                        : "rnnlab: " + texts.first + "; a second Ctrl-C (SIGINT) or SIGTERM ends it at once\n"),
      last_words_(texts.second.empty() ? "" : "rnnlab: ended at once; " + texts.second + "\n"),
      handler_stack_(kHandlerStackBytes) {
  wake_up();
  first_signal.store(0, std::memory_order_relaxed);
  next_kills.store(false, std::memory_order_relaxed);
  announcement_text = announcement_;
  last_words_text = last_words_;
  second_kills.store(second == SecondSignal::kKills, std::memory_order_relaxed);
  const stack_t stack = {.ss_sp = handler_stack_.data(), .ss_flags = 0, .ss_size = handler_stack_.size()};
  const bool has_stack = ::sigaltstack(&stack, &previous_stack_) == 0;
  RNNLAB_INVARIANT(has_stack, "the signal handler must get its own stack");
  struct sigaction action = {};
  action.sa_handler = handle_stop_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;  // an interrupted write of results is restarted
  sigemptyset(&action.sa_mask);
  for (const StopSignal& signal : kStopSignals) {
    struct sigaction previous = {};
    ::sigaction(signal.number, nullptr, &previous);
    if (previous.sa_handler == SIG_IGN) continue;
    ::sigaction(signal.number, &action, nullptr);
    replaced_.push_back({signal.number, previous});
  }
}

StopSignalGuard::~StopSignalGuard() {
  for (const Replaced& one : replaced_) ::sigaction(one.number, &one.action, nullptr);
  ::sigaltstack(&previous_stack_, nullptr);
  announcement_text = last_words_text = {};
  first_signal.store(0, std::memory_order_relaxed);
}

StopDeadline::StopDeadline(OnDeadline on_deadline)
    : on_deadline_(std::move(on_deadline)), thread_([this] { watch(); }) {}

// If the thread is already calling `on_deadline`, this blocks until the process ends.
StopDeadline::~StopDeadline() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_one();
  ::sem_post(&wake_up());
  thread_.join();
}

bool StopDeadline::is_over() {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

void StopDeadline::watch() {
  while (!pending_stop() && !is_over()) ::sem_wait(&wake_up());
  std::unique_lock lock(mutex_);
  if (ended_.wait_for(lock, kGrace, [this] { return is_over_; })) return;
  const auto stop = pending_stop();
  if (!stop) return;  // the guard was destroyed, so there is no pending signal
  on_deadline_(*stop);
  ::_exit(static_cast<int>(stop->exit_code));
}

}  // namespace rnnlab
