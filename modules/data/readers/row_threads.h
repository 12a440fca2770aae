// SPDX-License-Identifier: Apache-2.0
// Runs work over the rows of a table on several threads. It does not use LibTorch's threads, because readers do without
// LibTorch. The work must not throw.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace rnnlab {

// Returns the number of threads that are worth their start for this number of items.
inline int64_t num_reading_threads(int64_t num_items, int64_t least_items) {
  constexpr int64_t kMostThreads = 8;  // more threads wait for the memory
  const auto num_cpus = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return std::clamp<int64_t>(num_items / least_items, 1, std::min(kMostThreads, num_cpus));
}

// Calls work(begin, end) for consecutive parts of 0 .. num_rows - 1, and waits for all of them.
template <class Work>
void in_threads(int64_t num_rows, const Work& work) {
  constexpr int64_t kLeastRows = 4096;
  const int64_t count = num_reading_threads(num_rows, kLeastRows);
  std::vector<std::jthread> threads;
  for (int64_t i = 1; i < count; ++i)
    threads.emplace_back([&work, begin = num_rows * i / count, end = num_rows * (i + 1) / count] { work(begin, end); });
  work(0, num_rows / count);
}

}  // namespace rnnlab
