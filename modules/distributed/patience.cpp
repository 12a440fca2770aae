#include "distributed/patience.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"

namespace rnnlab {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kFewRounds = 3;
constexpr int kTimesLonger = 3;

// The heartbeat makes one round in each turn; on a busy machine rounds and turns are both longer.
int64_t num_rounds_in(milliseconds time) { return std::max<int64_t>(time / Patience::kTurn, 2); }

std::string names_of(const Seen& seen, const std::function<bool(int64_t)>& is_meant) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < std::ssize(seen.signs); ++i)
    if (is_meant(i)) names.push_back(name_of_rank(seen, i));
  return join(names, ", ");
}

std::string silent_ranks(const Seen& seen, int64_t own_rank, int64_t num_rounds) {
  return names_of(seen, [&](int64_t i) {
    const Sign& sign = seen.signs[static_cast<size_t>(i)];
    return i != own_rank && !sign.has_left && sign.num_silent_rounds >= num_rounds;
  });
}

RankFailed silence_of(const std::string& names) {
  return {ExitCode::kDevice,
          names + " does not respond, so the run ends: check whether it was killed or suspended, or its host is down"};
}

RankFailed lost_store(const Seen& seen, int64_t own_rank) {
  return {ExitCode::kDevice,
          fmt::format("{} cannot reach the store of its run: check whether the process that holds it, rank 0 or its "
                      "launcher, was killed or suspended; {} was the last sign of rank 0",
                      name_of_rank(seen, own_rank), name_of_rank(seen, 0))};
}

}  // namespace

RankFailed as_rank_failed(const Seen& seen) {
  const RankFailure& failure = *seen.failure;
  return {failure.exit_code, fmt::format("{} failed: {}", name_of_rank(seen, failure.rank), failure.message)};
}

Patience::Patience(Heartbeat& heartbeat, int64_t rank, milliseconds timeout, milliseconds absence,
                   int64_t own_operations, For purpose)
    : heartbeat_(heartbeat),
      rank_(rank),
      timeout_(timeout),
      absence_(absence),
      own_operations_(own_operations),
      for_(purpose),
      num_rounds_(heartbeat.seen().num_rounds) {}

void Patience::wait_on() {
  const Seen seen = heartbeat_.seen();
  if (seen.failure) throw as_rank_failed(seen);
  without_store_ = seen.num_rounds == num_rounds_ ? without_store_ + kTurn : milliseconds(0);
  num_rounds_ = seen.num_rounds;
  if (seen.is_store_gone || without_store_ >= timeout_) throw lost_store(seen, rank_);
  if (const std::string silent = silent_ranks(seen, rank_, num_rounds_in(timeout_)); !silent.empty())
    throw silence_of(silent);
  const std::string writers =
      names_of(seen, [&](int64_t i) { return seen.signs[static_cast<size_t>(i)].writes_files; });
  const std::string behind = names_of(seen, [&](int64_t i) { return is_rank_behind(seen, i); });
  const bool is_long_work = for_ == For::kDevice && behind.empty();
  waited_ = writers.empty() && !is_long_work ? waited_ + kTurn : milliseconds(0);
  // If no rank is behind, a rank is silent or disconnected, and it takes longer to find out which.
  if (waited_ < (behind.empty() ? kTimesLonger * absence_ : absence_)) return;
  throw RankFailed(ExitCode::kDevice, fmt::format("{} responds, but did not finish its work within {} s; raise "
                                                  "distributed.timeout if it is slow, or find out what blocks it",
                                                  behind.empty() ? "another rank" : behind, waited_.count() / 1000));
}

bool Patience::is_rank_behind(const Seen& seen, int64_t rank) const {
  const Sign& sign = seen.signs[static_cast<size_t>(rank)];
  const bool gives_signs = sign.num_silent_rounds < kFewRounds;
  return rank != rank_ && (sign.has_left || (gives_signs && sign.num_operations < own_operations_));
}

RankFailed failure_after_broken_connection(Heartbeat& heartbeat, int64_t rank, const std::string& error) {
  constexpr milliseconds kLongest{3000}, kSilence{1500};
  const Seen seen = heartbeat.look_until(kLongest, [](const Seen& now) { return now.failure || now.is_store_gone; });
  if (seen.failure) return as_rank_failed(seen);
  if (seen.is_store_gone) return lost_store(seen, rank);
  if (const std::string silent = silent_ranks(seen, rank, num_rounds_in(kSilence)); !silent.empty())
    return silence_of(silent);
  const std::string gone = names_of(seen, [&](int64_t i) { return seen.signs[static_cast<size_t>(i)].has_left; });
  return {ExitCode::kDevice, fmt::format("{} lost its connection to {}: {}", name_of_rank(seen, rank),
                                         gone.empty() ? "another rank" : gone, error)};
}

}  // namespace rnnlab
