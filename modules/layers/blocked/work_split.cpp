// SPDX-License-Identifier: Apache-2.0
#include "layers/blocked/work_split.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "base/system/machine.h"
#include "layers/blocked/panel.h"

namespace rnnlab {
namespace {

// The value is far above every count of steps and far below an overflow.
constexpr int32_t kGivenUp = int32_t{1} << 30;

}  // namespace

int64_t num_spins_for(int64_t num_threads) {
  constexpr int64_t kMany = 1000, kFew = 10;
  static const int64_t kNumCpus = allowed_cpus();
  return num_threads > kNumCpus ? kFew : kMany;
}

void StepCounter::wait_for(int64_t count, int64_t num_spins) const {
  for (int64_t i = 0; i < num_spins; ++i) {
    if (count_.load(std::memory_order_acquire) >= count) return;
    __builtin_ia32_pause();
  }
  for (int32_t now = count_.load(std::memory_order_acquire); now < count; now = count_.load(std::memory_order_acquire))
    count_.wait(now, std::memory_order_acquire);
}

void StepCounter::add_one() {
  count_.fetch_add(1, std::memory_order_acq_rel);
  count_.notify_all();
}

void StepCounter::give_up() {
  count_.store(kGivenUp);
  count_.notify_all();
}

namespace {

// Size of the weights that stay in the L2 cache of a core.
constexpr int64_t kBytesInCache = int64_t{1} << 20;

// The cost of reading weights, as the number of sequences by which they could be multiplied meanwhile: from the L2
// cache, and from the memory beyond it. Tile units multiply several times as fast, but do not read faster.
struct ReadingCost {
  int64_t cached, uncached;
};
ReadingCost reading_cost(at::ScalarType type) {
  return multiplies_by_tiles(type) ? ReadingCost{16, 128} : ReadingCost{8, 32};
}

// The sums of more sequences do not fit into the L2 cache.
constexpr int64_t kMostRows = 128;

// The costs of waiting after each step: kWorkOfSignal, in multiplications, is the time until a signal arrives;
// kUnevenness is the time of the slowest thread relative to the mean.
constexpr int64_t kWorkOfSignal = 100'000;
constexpr double kUnevenness = 1.25;

int64_t divided(int64_t count, int64_t parts) { return (count + parts - 1) / parts; }

WorkSplit make_split(const RecurrenceSize& size, int64_t num_groups, int64_t num_parts) {
  const int64_t rows = divided(size.batch_size, num_groups), blocks = divided(size.num_blocks, num_parts);
  return {rows, blocks, divided(size.batch_size, rows), divided(size.num_blocks, blocks)};
}

// Returns the time of a step of one part, in multiplications.
double cost_of(const RecurrenceSize& size, const WorkSplit& split) {
  const int64_t weights = split.blocks_of_part * size.work_of_block;
  const bool is_cached = weights * static_cast<int64_t>(c10::elementSize(size.type)) <= kBytesInCache;
  const ReadingCost reading = reading_cost(size.type);
  const auto work =
      static_cast<double>(weights * (split.rows_of_group + (is_cached ? reading.cached : reading.uncached)));
  return split.num_parts == 1 ? work : kUnevenness * work + kWorkOfSignal;
}

kernels::Range range_of(int64_t index, int64_t size, int64_t end) {
  return {index * size, std::min((index + 1) * size, end)};
}

// Runs groups that have one part. Groups of many sequences are cut further, and a thread runs one after another.
void run_apart(const RecurrenceSize& size, const WorkSplit& split, const RunStep& run) {
  const int64_t num_groups = split.num_groups * divided(split.rows_of_group, kMostRows);
  const int64_t rows = divided(size.batch_size, num_groups);
  at::parallel_for(0, divided(size.batch_size, rows), 1, [&](int64_t first, int64_t last) {
    for (int64_t group = first; group < last; ++group)
      for (int64_t step = 0; step < size.num_steps; ++step)
        run(step, range_of(group, rows, size.batch_size), {0, size.num_blocks});
  });
}

class PartsTogether {
 public:
  PartsTogether(const RecurrenceSize& size, const WorkSplit& split, const RunStep& run)
      : size_(size),
        split_(split),
        run_(run),
        num_spins_(num_spins_for(at::get_num_threads())),
        counters_(static_cast<size_t>(split.num_groups)) {}

  void run() {
    at::parallel_for(0, split_.num_groups * split_.num_parts, 1, [&](int64_t first, int64_t last) {
      try {
        run_parts(first, last);
      } catch (...) {
        for (StepCounter& counter : counters_) counter.give_up();
        throw;
      }
    });
  }

 private:
  // A thread with several parts runs them step by step, so that no part waits for a part that its own thread has not
  // begun.
  void run_parts(int64_t first, int64_t last) {
    for (int64_t step = 0; step < size_.num_steps; ++step)
      for (int64_t i = first; i < last; ++i) {
        const int64_t group = i / split_.num_parts, part = i % split_.num_parts;
        StepCounter& counter = counters_[static_cast<size_t>(group)];
        counter.wait_for(step * split_.num_parts, num_spins_);
        run_(step, range_of(group, split_.rows_of_group, size_.batch_size),
             range_of(part, split_.blocks_of_part, size_.num_blocks));
        counter.add_one();
      }
  }

  const RecurrenceSize& size_;
  const WorkSplit& split_;
  const RunStep& run_;
  int64_t num_spins_;
  std::vector<StepCounter> counters_;
};

}  // namespace

WorkSplit split_work(const RecurrenceSize& size, int64_t num_threads) {
  WorkSplit best = make_split(size, 1, 1);
  for (int64_t num_groups = 1; num_groups <= std::min(num_threads, size.batch_size); ++num_groups)
    for (int64_t num_parts = 1; num_parts <= std::min(num_threads / num_groups, size.num_blocks); ++num_parts) {
      const WorkSplit split = make_split(size, num_groups, num_parts);
      if (cost_of(size, split) < cost_of(size, best)) best = split;
    }
  return best;
}

void run_recurrence(const RecurrenceSize& size, const RunStep& run) {
  const WorkSplit split = split_work(size, at::get_num_threads());
  if (split.num_parts == 1) return run_apart(size, split, run);
  PartsTogether(size, split, run).run();
}

}  // namespace rnnlab
