// SIGINT, SIGTERM, SIGHUP, SIGXCPU and SIGUSR1 ask what is under way to end at the next good moment, such as after a
// training step. A signal that was ignored before stays ignored: nohup and background jobs of scripts want that. A
// second SIGINT or SIGTERM kills at once, as if unhandled. The other three may come again and change nothing: a
// terminal that closes sends SIGHUP twice, and a process beyond its limit of processor time gets SIGXCPU every second.
//
// The handler runs on a stack of its own: the code that oneDNN generates keeps data below the stack pointer, where a
// handler on the same stack would write over it. One guard at a time, on the main thread, which gets the signals.
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

// The first signal that came since the guard was made. Always nothing without a guard.
std::optional<StopRequest> pending_stop();

// What a second SIGINT or SIGTERM does. A process that another one of this program started ignores it: signals of a
// terminal or a batch system reach both, so one wish may come twice.
enum class SecondSignal { kKills, kIsIgnored };

class StopSignalGuard {
 public:
  // The first signal writes "rnnlab: <announcement>; a second ..." to stderr, unless `announcement` is empty.
  explicit StopSignalGuard(const std::string& announcement = "", SecondSignal second = SecondSignal::kKills);
  ~StopSignalGuard();
  StopSignalGuard(const StopSignalGuard&) = delete;
  StopSignalGuard& operator=(const StopSignalGuard&) = delete;

 private:
  struct Replaced {
    int number;
    struct sigaction action;
  };

  std::string announcement_;
  std::vector<std::byte> handler_stack_;
  stack_t previous_stack_ = {};
  std::vector<Replaced> replaced_;
};

// Bounds work that cannot ask pending_stop(), such as loading data or one long measurement. If such work has not ended
// a second after a signal, a thread calls `last_words` and ends the process with the signal's exit code. Waiting for
// the signal costs no time. One at a time; without a StopSignalGuard it does nothing.
class StopDeadline {
 public:
  using LastWords = std::function<void(const StopRequest&)>;  // runs beside the work, which does not end meanwhile

  // std::system_error where no thread can be made.
  explicit StopDeadline(LastWords last_words);
  ~StopDeadline();
  StopDeadline(const StopDeadline&) = delete;
  StopDeadline& operator=(const StopDeadline&) = delete;

 private:
  void watch();
  bool is_over();

  LastWords last_words_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::thread thread_;  // last, because it uses the others
};

}  // namespace rnnlab
