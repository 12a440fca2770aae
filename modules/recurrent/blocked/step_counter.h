// Counts the steps that threads have finished, for those that depend on them. A waiting thread spins for some
// microseconds, about as long as equal work of two threads differs, and then sleeps until the count changes: it takes
// no CPU from the threads that it waits for.
#pragma once

#include <atomic>
#include <cstdint>

namespace rnnlab {

// Spins before a thread sleeps. With more threads than CPUs the thread that is waited for may have none.
int64_t num_spins_for(int64_t num_threads);

// On cache lines of its own, because neighbouring counters belong to other threads.
class alignas(128) StepCounter {
 public:
  // Returns once the count is `count` or more. What was written before the add_one calls can be read then.
  void wait_for(int64_t count, int64_t num_spins) const;
  void add_one();

  // Nobody waits any more, now or later, because a thread failed.
  void give_up();

 private:
  std::atomic<int32_t> count_ = 0;
};

}  // namespace rnnlab
