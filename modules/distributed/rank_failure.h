// Why a run of several processes ends before its time: the first failure that one of them, or what started them, has
// put into their store. All the others end with it. FailureWatch finds it where no operation fails by itself, as on
// GPUs, whose kernels wait for a rank that is gone for ever.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "distributed/ranks.h"

namespace rnnlab {

// The first one stays. Does nothing where the store is gone.
void put_failure(c10d::Store& store, ExitCode exit_code, const std::string& message) noexcept;

std::optional<RankFailed> failure_in(c10d::Store& store);

// For a few seconds: a process that leaves says why, or the one that started it does. Nothing where the store is gone.
std::optional<RankFailed> wait_for_failure(c10d::Store& store);

// A thread that looks at the store twice a second, by a connection of its own.
class FailureWatch {
 public:
  // `on_failure`: once, by that thread, where a failure is in the store, the store is gone, or a rank gave no sign of
  // life (heartbeat.h) for `timeout`, which becomes the failure then. If this watch still exists 20 s after that, the
  // process ends there with the failure's exit code and message, because what it waits for does not come.
  FailureWatch(c10d::Store& store, int64_t rank, int64_t size, std::chrono::milliseconds timeout,
               std::function<void()> on_failure);

  bool has_seen_failure() const { return has_seen_failure_; }

 private:
  void watch(const std::stop_token& stop);
  std::optional<RankFailed> look();
  std::optional<RankFailed> failure_of_silent();

  c10::intrusive_ptr<c10d::Store> store_;
  int64_t rank_;
  int64_t size_;
  std::chrono::milliseconds timeout_;
  std::function<void()> on_failure_;
  struct Sign {
    std::string text;
    std::chrono::steady_clock::time_point since;
  };
  std::vector<Sign> signs_;  // the latest of each rank
  std::atomic<bool> has_seen_failure_ = false;
  std::jthread thread_;  // last, because it uses the others
};

}  // namespace rnnlab
