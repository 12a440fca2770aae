#include "experiment/thread_choice.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/numbers.h"
#include "training/determinism.h"

namespace rnnlab {
namespace {

using Clock = std::chrono::steady_clock;

// A smaller gain is not worth runs that cannot be compared with those of a quiet machine.
constexpr double kClearlyFaster = 2;

// About a tenth of a millisecond: each addition waits for the one before it.
void work_for_a_moment() {
  volatile double sum = 0;
  for (int i = 0; i < 20'000; ++i) sum = sum + 1;
}

// Units of work a second. Programs that share a CPU take turns of some milliseconds, so it is watched for longer.
double measure_speed(int64_t num_threads) {
  constexpr std::chrono::milliseconds kLongEnough(20);
  set_num_threads(num_threads);
  const auto run_round = [&] { at::parallel_for(0, num_threads, 1, [](int64_t, int64_t) { work_for_a_moment(); }); };
  run_round();  // the first round creates the threads
  const Clock::time_point began = Clock::now();
  int num_rounds = 0;
  while (Clock::now() - began < kLongEnough) {
    run_round();
    ++num_rounds;
  }
  return static_cast<double>(num_rounds * num_threads) / std::chrono::duration<double>(Clock::now() - began).count();
}

}  // namespace

std::map<int64_t, double> measure_speeds(int64_t most_threads) {
  if (most_threads == 1 || std::getenv("OMP_NUM_THREADS") != nullptr) return {};
  constexpr int kTurns = 6;
  std::map<int64_t, double> speeds;
  for (int turn = 0; turn < kTurns; ++turn)
    for (int64_t num_threads = most_threads; num_threads > 0; num_threads /= 2) {
      const double speed = measure_speed(num_threads);
      const auto [slowest, is_first] = speeds.try_emplace(num_threads, speed);
      slowest->second = std::min(slowest->second, speed);
    }
  set_num_threads(1);
  return speeds;
}

std::optional<ThreadChoice> choose_num_threads(const std::map<int64_t, double>& speeds) {
  if (speeds.empty()) return std::nullopt;
  const auto by_speed = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto& [best, best_speed] = *std::max_element(speeds.begin(), speeds.end(), by_speed);
  const auto& [most, most_speed] = *speeds.rbegin();
  if (best_speed < kClearlyFaster * most_speed) return std::nullopt;
  return ThreadChoice{
      best, fmt::format("{} did {:.3g} times the work of {}", counted(best, "thread"), best_speed / most_speed, most)};
}

}  // namespace rnnlab
