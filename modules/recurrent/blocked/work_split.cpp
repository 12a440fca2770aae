#include "recurrent/blocked/work_split.h"

#include <ATen/Parallel.h>

#include <algorithm>

namespace rnnlab {
namespace {

// Sequences that are worth a pass over weights which the second cache does not hold, and over those which it does.
constexpr int64_t kLeastRows = 32;
constexpr int64_t kLeastRowsOfSmall = 8;
constexpr int64_t kMostSmallWeights = 256 * 1024;

// With more sequences their sums leave the second cache.
constexpr int64_t kMostRows = 128;

// What a thread must have to do in a step to be worth waking.
constexpr int64_t kLeastWork = 100'000;

int64_t divided(int64_t count, int64_t parts) { return (count + parts - 1) / parts; }

}  // namespace

bool splits_batch(const RecurrenceSize& size) {
  const bool is_small = size.num_blocks * size.work_of_block <= kMostSmallWeights;
  return size.batch_size >= (is_small ? kLeastRowsOfSmall : kLeastRows) * at::get_num_threads();
}

void run_recurrence(const RecurrenceSize& size, const RunStep& run) {
  if (splits_batch(size)) {
    const int64_t num_blocks = at::get_num_threads() * divided(size.batch_size, at::get_num_threads() * kMostRows);
    const int64_t rows = divided(size.batch_size, num_blocks);
    return at::parallel_for(0, divided(size.batch_size, rows), 1, [&](int64_t first, int64_t last) {
      for (int64_t block = first; block < last; ++block)
        for (int64_t step = 0; step < size.num_steps; ++step)
          run(step, {block * rows, std::min(size.batch_size, (block + 1) * rows)}, {0, size.num_blocks});
    });
  }
  const int64_t grain = std::max<int64_t>(1, kLeastWork / (size.work_of_block * size.batch_size));
  for (int64_t step = 0; step < size.num_steps; ++step)
    at::parallel_for(0, size.num_blocks, grain, [&](int64_t first, int64_t last) {
      run(step, {0, size.batch_size}, {first, last});
    });
}

}  // namespace rnnlab
