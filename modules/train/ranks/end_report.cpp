// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/end_report.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "train/ranks/bounded_work.h"
#include "train/ranks/run_failure.h"
#include "train/ranks/store_connection.h"

namespace rnnlab {

using Clock = std::chrono::steady_clock;

EndReport::EndReport(StorePointer store, Heartbeat& heartbeat, const Links& links, const Launch& launch)
    : store_(std::move(store)),
      heartbeat_(heartbeat),
      links_(links),
      rank_(launch.rank),
      size_(launch.size),
      first_without_store_(first_without_store(launch)) {}

void EndReport::post_failure(ExitCode exit_code, const std::string& message) const noexcept {
  try {
    const RankFailure failure{rank_, exit_code, message, this_process()};
    run_within(kReportTimeout, [store = store_, failure, all = size_] {
      put_failure(*store, failure, all);
      return true;
    });
  } catch (const std::exception&) {  // no process is left to read the message
    return;
  }
}

// Ranks that lose the store after this hear of the report all the same.
bool EndReport::claim(const std::string& message) noexcept {
  bool is_own = true;
  try {
    is_own = is_reporter(message);
  } catch (const std::exception&) {  // the store is gone
    is_own = is_elected();
  }
  if (is_own) links_.announce_report();
  return is_own;
}

bool EndReport::is_reporter(const std::string& message) {
  if (rank_ != 0) wait_for_files_of_rank_0();
  if (links_.has_heard_report()) return false;
  if (is_store_silent(heartbeat_.status())) return is_elected();
  const auto told = run_within(kReportTimeout, [store = store_, own = rank_, all = size_, message] {
    return claim_report(*store, own, all, message);
  });
  return told ? *told : is_elected();
}

// A launcher may kill the first rank as soon as another rank has ended. Files may take any time, as long as rank 0
// sends heartbeats.
void EndReport::wait_for_files_of_rank_0() const {
  constexpr std::chrono::seconds kSilence{2};
  constexpr std::chrono::hours kAnyTime{24 * 20};
  heartbeat_.poll_until(kAnyTime, [kSilence](const RunStatus& status) {
    const RankStatus& first = status.ranks.front();
    return is_store_silent(status) || !first.writes_files || is_silent(first, kSilence);
  });
}

// Returns whether this rank reports the end of the run when the store does not answer: the lowest rank that answers
// does. If the host of rank 0 does not answer, rank 0 may be on the other side of a broken network and report there.
bool EndReport::is_elected() {
  const std::vector<LinkState> states = states_without_store();
  if (links_.has_heard_report()) return false;
  if (states.empty()) {
    is_cut_off_ = rank_ > first_without_store_;
    return !is_cut_off_;
  }
  is_cut_off_ = rank_ != 0 && states.front() == LinkState::kUnreachable;
  const bool is_lowest = std::none_of(states.begin(), states.begin() + rank_, answers);
  if (is_cut_off_ || std::ranges::count(states, LinkState::kReachesStore) > 1) return false;
  return is_lowest || wait_for_report();
}

// Always returns false. The rank that reports would otherwise find that this one has ended, and name it too.
bool EndReport::wait_for_report() const {
  constexpr std::chrono::milliseconds kPause{20};
  constexpr std::chrono::seconds kLongest{4};
  const auto end = Clock::now() + kLongest;
  while (!links_.has_heard_report() && Clock::now() < end) std::this_thread::sleep_for(kPause);
  return false;
}

// Asks the other ranks repeatedly, because another rank may lose the store a few seconds after this one. A rank that
// does not lose it reports what happened, also if it has ended since.
std::vector<LinkState> EndReport::states_without_store() const {
  constexpr std::chrono::milliseconds kPause{500};
  constexpr std::chrono::seconds kLongest{4};
  std::vector<bool> reached_store(static_cast<size_t>(size_));
  for (const auto end = Clock::now() + kLongest;;) {
    std::vector<LinkState> states = links_.probe();
    for (size_t i = 0; i < states.size(); ++i) {
      if (states[i] == LinkState::kReachesStore) reached_store[i] = true;
      if (states[i] == LinkState::kRefuses && reached_store[i]) states[i] = LinkState::kReachesStore;
    }
    const bool is_settled = std::ranges::count(states, LinkState::kReachesStore) <= 1;  // this rank
    if (is_settled || links_.has_heard_report() || Clock::now() > end) return states;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace rnnlab
