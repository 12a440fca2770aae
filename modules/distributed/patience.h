// Limits how long a process waits for the other ranks of its run within one operation, and chooses the ranks that the
// error names. A rank without a sign of life for the whole timeout ends the run. So does a rank that sends signs but
// does not reach the operation, unless a rank writes files, because that may take as long as the disk needs.
#pragma once

#include <chrono>

#include "distributed/heartbeat.h"
#include "distributed/ranks.h"

namespace rnnlab {

class Patience {
 public:
  static constexpr std::chrono::milliseconds kTurn{500};

  // The subject of the wait. Work of the own device may take any time while no rank is behind.
  enum class For { kRanks, kDevice };

  // `timeout` is the limit for a rank without signs of life, `absence` the limit for a rank with signs.
  // `own_operations` is the result of count_operation().
  Patience(Heartbeat& heartbeat, int64_t rank, std::chrono::milliseconds timeout, std::chrono::milliseconds absence,
           int64_t own_operations, For purpose = For::kRanks);

  // Call this function after each kTurn of waiting. Throws RankFailed if a rank has failed, or if a limit is exceeded.
  void wait_on();

 private:
  bool is_rank_behind(const Seen& seen, int64_t rank) const;

  Heartbeat& heartbeat_;
  int64_t rank_;
  std::chrono::milliseconds timeout_, absence_;
  int64_t own_operations_;
  For for_;
  int64_t num_rounds_;  // of the heartbeat at the last call
  std::chrono::milliseconds without_store_{0};
  std::chrono::milliseconds waited_{0};
};

// Returns why the connection to another rank broke: the failure that the rank or its launcher reports within three
// seconds, else which rank sends no more signs, else `error`.
RankFailed failure_after_broken_connection(Heartbeat& heartbeat, int64_t rank, const std::string& error);

// The message is for example "rank 1 of 4 (process 4711 of node7, step 812) failed: x.csv: no such file".
RankFailed as_rank_failed(const Seen& seen);

}  // namespace rnnlab
