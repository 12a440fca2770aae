#include "recurrent/blocked/step_counter.h"

#include "results/cpu_limits.h"

namespace rnnlab {
namespace {

// Far above every count of steps, far below an overflow.
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

}  // namespace rnnlab
