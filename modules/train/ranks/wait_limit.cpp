// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/wait_limit.h"

#include <fmt/format.h>

#include <functional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "train/ranks/run_failure.h"

namespace rnnlab {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kSilenceOfDead{1500};

bool is_other(const RunStatus& status, int64_t own_rank, int64_t rank) {
  return rank != own_rank && !status.ranks[static_cast<size_t>(rank)].has_left;
}

std::vector<int64_t> ranks_where(const RunStatus& status, const std::function<bool(int64_t)>& is_meant) {
  std::vector<int64_t> found;
  for (int64_t i = 0; i < std::ssize(status.ranks); ++i)
    if (is_meant(i)) found.push_back(i);
  return found;
}

std::string names_of(const RunStatus& status, const std::vector<int64_t>& ranks) {
  std::vector<std::string> names;
  for (const int64_t rank : ranks) names.push_back(name_of_rank(status, rank));
  return join(names, ", ");
}

std::vector<int64_t> silent_ranks(const RunStatus& status, int64_t own_rank, milliseconds time) {
  return ranks_where(status, [&](int64_t i) {
    return is_other(status, own_rank, i) && is_silent(status.ranks[static_cast<size_t>(i)], time);
  });
}

// Returns what asking a rank itself has shown, for a message.
std::string finding_of(LinkState state, const std::string& address) {
  switch (state) {
    case LinkState::kRefuses:
      return fmt::format("its host refuses connections to {}, so the process has ended or a firewall rejects them",
                         address);
    case LinkState::kSilent:
      return fmt::format("it accepts connections to {} but does not answer, so it is suspended or its host hangs",
                         address);
    case LinkState::kUnreachable:
      return fmt::format("it cannot be reached at {}, so its host is down or the network is broken", address);
    case LinkState::kAnswers:
    case LinkState::kReachesStore:
      return fmt::format("it answers at {}, so its connection to the store is broken", address);
    case LinkState::kUnknown:
      break;
  }
  return "check whether it was killed or suspended, or its host is down";
}

LinkState state_of(const std::vector<LinkState>& states, int64_t rank) {
  const auto i = static_cast<size_t>(rank);
  return i < states.size() ? states[i] : LinkState::kUnknown;
}

// Call this function for ranks whose heartbeats are missing. The ranks are asked themselves why.
RankFailed silence_of(const RunStatus& status, const Links& links, const std::vector<int64_t>& ranks) {
  const std::vector<LinkState> states = links.probe();
  std::vector<std::string> findings;
  for (const int64_t rank : ranks) add_once(findings, finding_of(state_of(states, rank), links.address_of(rank)));
  return {ExitCode::kDevice, fmt::format("{} {} not respond, so the run ends: {}", names_of(status, ranks),
                                         ranks.size() == 1 ? "does" : "do", join(findings, "; "))};
}

// The store may be with rank 0 or with the launcher. Ranks that do not answer explain it, unless all of them answer.
RankFailed lost_store(const RunStatus& status, const Links& links, int64_t own_rank) {
  const std::vector<LinkState> states = links.probe();
  const auto missing = ranks_where(status, [&](int64_t i) {
    const LinkState state = state_of(states, i);
    return is_other(status, own_rank, i) && state != LinkState::kUnknown && !answers(state);
  });
  std::vector<std::string> findings;
  for (const int64_t rank : missing)
    findings.push_back(
        fmt::format("{}: {}", name_of_rank(status, rank), finding_of(state_of(states, rank), links.address_of(rank))));
  if (findings.empty())
    findings.push_back(
        fmt::format("check whether the process that holds it, rank 0 or its launcher, was killed or "
                    "suspended; rank 0 was last seen as {}",
                    name_of_rank(status, 0)));
  return {ExitCode::kDevice, fmt::format("{} cannot reach the store of its run: {}", name_of_rank(status, own_rank),
                                         join(findings, "; "))};
}

// Throws BrokenLink if a rank that sends heartbeats cannot be reached. Silence of others is a matter of the timeout.
void require_no_broken_link(const RunStatus& status, const Links& links, int64_t own_rank) {
  const std::vector<LinkState> states = links.probe();
  for (int64_t i = 0; i < std::ssize(states); ++i) {
    const LinkState state = state_of(states, i);
    const bool may_have_ended = is_silent(status.ranks[static_cast<size_t>(i)], kSilenceOfDead);
    if (!is_other(status, own_rank, i) || may_have_ended || state == LinkState::kUnknown || answers(state)) continue;
    throw BrokenLink(
        ExitCode::kDevice,
        fmt::format("cannot reach {} at {}, although both reach the store: check whether a firewall or a broken "
                    "network is between them",
                    name_of_rank(status, i), links.address_of(i)));
  }
}

}  // namespace

RankFailed as_rank_failed(const RunStatus& status) {
  const RankFailure& failure = *status.failure;
  return {failure.exit_code, fmt::format("{} failed: {}", name_of_rank(status, failure.rank), failure.message)};
}

WaitLimit::WaitLimit(Heartbeat& heartbeat, const Links& links, int64_t rank, milliseconds timeout,
                     milliseconds stall_timeout, int64_t own_operations, WaitingFor waiting_for)
    : heartbeat_(heartbeat),
      links_(links),
      rank_(rank),
      timeout_(timeout),
      stall_timeout_(stall_timeout),
      own_operations_(own_operations),
      waiting_for_(waiting_for) {}

void WaitLimit::check() {
  // Another rank may find the broken link, or finish after a connection that loses packets.
  constexpr milliseconds kForOthers{5000};
  const RunStatus status = heartbeat_.status();
  if (status.failure) throw as_rank_failed(status);
  if (status.is_store_gone || status.store_silence >= timeout_) throw lost_store(status, links_, rank_);
  if (const auto silent = silent_ranks(status, rank_, timeout_); !silent.empty())
    throw silence_of(status, links_, silent);
  const auto behind = ranks_where(status, [&](int64_t i) { return is_rank_behind(status, i); });
  if (waiting_for_ == WaitingFor::kDevice && behind.empty()) return wait_for_device(status);
  const auto writers =
      ranks_where(status, [&](int64_t i) { return i != rank_ && status.ranks[static_cast<size_t>(i)].writes_files; });
  waited_ = writers.empty() ? waited_ + kPollInterval : milliseconds(0);
  if (waited_ < stall_timeout_) return;
  if (!std::exchange(has_tried_links_, true)) return require_no_broken_link(status, links_, rank_);
  if (waited_ < stall_timeout_ + kForOthers) return;
  const char* key = stall_timeout_ > timeout_ ? "distributed.start_timeout" : "distributed.timeout";
  throw RankFailed(
      ExitCode::kDevice,
      fmt::format("{} responds, but did not finish its work within {} s; raise {} if it is slow, or find "
                  "out what blocks it",
                  behind.empty() ? "another rank" : names_of(status, behind), stall_timeout_.count() / 1000, key));
}

// Work of the device may also wait for another rank, so the connections are tried from time to time.
void WaitLimit::wait_for_device(const RunStatus& status) {
  waited_ = milliseconds(0);
  worked_ += kPollInterval;
  if (worked_ < stall_timeout_) return;
  worked_ = milliseconds(0);
  require_no_broken_link(status, links_, rank_);
}

bool WaitLimit::is_rank_behind(const RunStatus& status, int64_t rank) const {
  constexpr int64_t kLiveRounds = 3;
  const RankStatus& rank_status = status.ranks[static_cast<size_t>(rank)];
  const bool sends_heartbeats = rank_status.num_silent_rounds < kLiveRounds;
  return rank != rank_ && (rank_status.has_left || (sends_heartbeats && rank_status.num_operations < own_operations_));
}

void throw_broken_connection(Heartbeat& heartbeat, const Links& links, int64_t rank, const std::string& error) {
  constexpr milliseconds kLongest{3000};
  const RunStatus status =
      heartbeat.poll_until(kLongest, [](const RunStatus& now) { return now.failure || now.is_store_gone; });
  if (status.failure) throw as_rank_failed(status);
  if (is_store_silent(status)) throw lost_store(status, links, rank);
  if (const auto silent = silent_ranks(status, rank, kSilenceOfDead); !silent.empty())
    throw silence_of(status, links, silent);
  require_no_broken_link(status, links, rank);
  const auto gone = ranks_where(status, [&](int64_t i) { return status.ranks[static_cast<size_t>(i)].has_left; });
  throw RankFailed(ExitCode::kDevice, fmt::format("{} lost its connection to {}: {}", name_of_rank(status, rank),
                                                  gone.empty() ? "another rank" : names_of(status, gone), error));
}

}  // namespace rnnlab
