// SPDX-License-Identifier: Apache-2.0
// Work that may never end, because it waits for a store whose process is suspended or for a peer that is gone: it gets
// a thread of its own and is abandoned after a time limit.
#pragma once

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace rnnlab {

// The longest that a rank waits for the store while the run ends.
inline constexpr std::chrono::seconds kReportTimeout{5};

// Starts `work` on a new thread and returns its future result. The work may never end, because a store whose process is
// suspended does not answer; so `work` must own all that it uses, and the process must end without destroying static
// objects, as rnnlab does.
template <class Work>
auto start_on_thread(Work work) -> std::future<decltype(work())> {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  return result;
}

// Returns the result of `work`, or nothing if the work takes longer than `limit`.
template <class Work>
auto run_within(std::chrono::milliseconds limit, Work work) -> std::optional<decltype(work())> {
  auto result = start_on_thread(std::move(work));
  if (result.wait_for(limit) == std::future_status::ready) return result.get();
  return std::nullopt;
}

}  // namespace rnnlab
