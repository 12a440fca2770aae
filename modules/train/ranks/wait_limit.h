// SPDX-License-Identifier: Apache-2.0
// Ends a wait for ranks that send no heartbeats or make no progress, and says which they are and why.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "train/ranks/heartbeat.h"
#include "train/ranks/launch.h"
#include "train/ranks/links.h"

namespace rnnlab {

// Limits how long a process waits for the other ranks of its run within one operation, and chooses the ranks that the
// error names. A rank without a heartbeat for the whole timeout ends the run, also while its last heartbeat says that
// it writes files. So does a rank that sends heartbeats but does not reach the operation, unless another rank writes
// files, because that may take as long as the disk needs. If heartbeats do not show what is wrong, the connections to
// the other ranks do.
class WaitLimit {
 public:
  static constexpr std::chrono::milliseconds kPollInterval{500};

  // The subject of the wait. Work of the own device may take any time while no rank is behind.
  enum class WaitingFor { kRanks, kDevice };

  // `timeout` is the limit for a rank without heartbeats, `stall_timeout` the limit for a rank with heartbeats.
  // `own_operations` is the result of count_operation().
  WaitLimit(Heartbeat& heartbeat, const Links& links, int64_t rank, std::chrono::milliseconds timeout,
            std::chrono::milliseconds stall_timeout, int64_t own_operations,
            WaitingFor waiting_for = WaitingFor::kRanks);

  // Call this function after each kPollInterval of waiting. Throws RankFailed if a rank has failed, or if a limit is
  // exceeded, and BrokenLink if this process does not reach another rank.
  void check();

 private:
  bool is_rank_behind(const RunStatus& status, int64_t rank) const;
  void wait_for_device(const RunStatus& status);

  Heartbeat& heartbeat_;
  const Links& links_;
  int64_t rank_;
  std::chrono::milliseconds timeout_, stall_timeout_;
  int64_t own_operations_;
  WaitingFor waiting_for_;
  std::chrono::milliseconds waited_{0};
  std::chrono::milliseconds worked_{0};  // on the own device, while no rank is behind
  bool has_tried_links_ = false;
};

// Thrown if heartbeats of another rank arrive through the store, but this process does not reach the rank itself. The
// message is to be stored as the failure of this process.
class BrokenLink : public UserError {
 public:
  using UserError::UserError;
};

// Throws why the connection to another rank broke: RankFailed with the failure that the rank or its launcher reports
// within three seconds, else with the ranks that send no more heartbeats; else BrokenLink; else RankFailed with
// `error`.
[[noreturn]] void throw_broken_connection(Heartbeat& heartbeat, const Links& links, int64_t rank,
                                          const std::string& error);

// The message is for example "rank 1 of 4 (process 4711 of node7, step 812) failed: x.csv: no such file".
RankFailed as_rank_failed(const RunStatus& status);

}  // namespace rnnlab
