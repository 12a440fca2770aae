// SPDX-License-Identifier: Apache-2.0
// Runs the parts of a work on several threads. It does not use LibTorch's threads, because readers do without LibTorch.
// If the system has no more threads, the calling thread does all parts. An error of a part is the caller's error.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace rnnlab {

// Returns the number of threads that are worth their start for this number of items.
inline int64_t num_reading_threads(int64_t num_items, int64_t least_items) {
  constexpr int64_t kMostThreads = 8;  // more threads wait for the memory
  const auto num_cpus = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return std::clamp<int64_t>(num_items / least_items, 1, std::min(kMostThreads, num_cpus));
}

// Calls work(0) .. work(num_parts - 1), each on a thread of its own, and waits for all of them. Rethrows the exception
// of the first part that failed. Does nothing if there are no parts.
template <class Work>
void in_threads(int64_t num_parts, const Work& work) {
  std::vector<std::exception_ptr> errors(static_cast<size_t>(num_parts));
  const auto run = [&](int64_t part) {
    try {
      work(part);
    } catch (...) {
      errors[static_cast<size_t>(part)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int64_t part = 1; part < num_parts; ++part) {
      try {
        threads.emplace_back(run, part);
      } catch (const std::system_error&) {
        run(part);
      }
    }
    if (num_parts > 0) run(0);
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace rnnlab
