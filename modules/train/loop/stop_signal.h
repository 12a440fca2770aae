// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM, SIGHUP, SIGXCPU and SIGUSR1 ask the program to end at the next good moment, such as after a training
// step. A signal that was ignored before stays ignored, because nohup and background jobs of scripts need that. A
// second SIGINT or SIGTERM kills the process at once, as if unhandled, after one sentence on what is lost. Repetitions
// of the other three signals change nothing: a terminal that closes sends SIGHUP twice, and a process beyond its limit
// of processor time gets SIGXCPU every second.
//
// The handler runs on its own stack: code that oneDNN generates keeps data below the stack pointer, and a handler on
// the same stack would overwrite it. There can be one guard at a time, on the main thread, which gets the signals.
#pragma once

#include <signal.h>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"

namespace rnnlab {

struct StopRequest {
  ExitCode exit_code = ExitCode::kInterrupted;  // 128 + the signal's number
  std::string text;                             // "interrupted (SIGINT)"
};

// Returns the first signal since the guard was made. Returns nothing if there is no guard.
std::optional<StopRequest> pending_stop();

// Selects the effect of a second SIGINT or SIGTERM. A process that another process of this program started ignores the
// second signal: signals of a terminal or a batch system reach both, so one request may arrive twice.
enum class SecondSignal { kKills, kIsIgnored };

// What the signals write to stderr; an empty text writes nothing.
struct StopTexts {
  std::string first;   // "rnnlab: <first>; a second Ctrl-C (SIGINT) or SIGTERM ends it at once"
  std::string second;  // "rnnlab: ended at once; <second>", such as "the rows so far are lost"
};

inline constexpr const char* kLostTraining = "what was trained since the last checkpoint is lost";

class StopSignalGuard {
 public:
  explicit StopSignalGuard(const StopTexts& texts = {}, SecondSignal second = SecondSignal::kKills);
  ~StopSignalGuard();
  StopSignalGuard(const StopSignalGuard&) = delete;
  StopSignalGuard& operator=(const StopSignalGuard&) = delete;

 private:
  struct Replaced {
    int number;
    struct sigaction action;
  };

  std::string announcement_, last_words_;
  std::vector<std::byte> handler_stack_;
  stack_t previous_stack_ = {};
  std::vector<Replaced> replaced_;
};

// Bounds work that cannot call pending_stop(), such as loading data or one long measurement. If the work has not ended
// a second after a signal, a thread calls `on_deadline` and ends the process with the signal's exit code. Waiting for
// the signal costs no time. There can be one deadline at a time; without a StopSignalGuard it does nothing.
class StopDeadline {
 public:
  using OnDeadline = std::function<void(const StopRequest&)>;  // runs while the work still runs

  // Throws std::system_error if no thread can be made.
  explicit StopDeadline(OnDeadline on_deadline);
  ~StopDeadline();
  StopDeadline(const StopDeadline&) = delete;
  StopDeadline& operator=(const StopDeadline&) = delete;

 private:
  void watch();
  bool is_over();

  OnDeadline on_deadline_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::thread thread_;  // last, because it uses the members above
};

}  // namespace rnnlab
