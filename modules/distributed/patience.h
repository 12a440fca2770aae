// How long a process waits for the others of its run within one operation, and which of them it names when it gives up.
// A rank that gives no sign of life for the whole timeout ends the run. So does a rank that gives signs but does not
// come, unless it writes files: that may take as long as the disk needs.
#pragma once

#include <chrono>

#include "distributed/heartbeat.h"
#include "distributed/ranks.h"

namespace rnnlab {

class Patience {
 public:
  static constexpr std::chrono::milliseconds kTurn{500};

  // What is waited for. Work of the own device may take as long as it needs while no rank is behind.
  enum class For { kRanks, kDevice };

  // `timeout` of silence; `absence` of a rank that gives signs of life. `own_operations` is what count_operation()
  // gave.
  Patience(Heartbeat& heartbeat, int64_t rank, std::chrono::milliseconds timeout, std::chrono::milliseconds absence,
           int64_t own_operations, For purpose = For::kRanks);

  // After another kTurn without the others. RankFailed where one has failed, or where the patience is over.
  void wait_on();

 private:
  bool is_rank_behind(const Seen& seen, int64_t rank) const;

  Heartbeat& heartbeat_;
  int64_t rank_;
  std::chrono::milliseconds timeout_, absence_;
  int64_t own_operations_;
  For for_;
  int64_t num_rounds_;  // that the heartbeat had made when this last looked
  std::chrono::milliseconds without_store_{0};
  std::chrono::milliseconds waited_{0};
};

// Why the connection to another rank broke: what it or its starter says within three seconds, else which rank gives no
// sign any more, else `error`.
RankFailed failure_after_broken_connection(Heartbeat& heartbeat, int64_t rank, const std::string& error);

// "rank 1 of 4 (process 4711 of node7, step 812) failed: x.csv: no such file"
RankFailed as_rank_failed(const Seen& seen);

}  // namespace rnnlab
