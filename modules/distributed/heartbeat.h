// SPDX-License-Identifier: Apache-2.0
// Sends heartbeats of this process to the other processes of its run, through the store that all of them reach, and
// reads theirs. A thread renews the heartbeat twice a second and reads the others at the same time, through its own
// connection. So a rank that waits for others never reads the store itself, whose process may be suspended. WaitLimit
// ends a wait for ranks that send no heartbeats or make no progress.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "distributed/launch.h"
#include "distributed/links.h"

namespace rnnlab {

// The store also has the reason why a run of several processes ends: the first failure, and which process reports it to
// the user. A process that was started for the run but cannot join the others uses the same keys.
//
// Without Launch::secret everybody who can connect to the store can write into it. So what these functions read is what
// a rank may say: a rank below `size`, an exit code of a failure, and texts of limited length without control
// characters. Anything else counts as not written.

struct RankFailure {
  int64_t rank = 0;
  ExitCode exit_code = ExitCode::kInternal;
  std::string message;
  std::string process;  // see this_process(); "" if another process stores the failure
};

// Returns for example "process 4711 of node7".
std::string this_process();

// Stores a failure; a second failure does not replace the first. This function and those below throw if the store
// cannot be reached.
void put_failure(c10d::Store& store, const RankFailure& failure, int64_t size);
std::optional<RankFailure> failure_in(c10d::Store& store, int64_t size);

// Returns true for the one process that reports to the user why the run ended: rank 0, or, if rank 0 does not claim the
// report within three seconds, the first other rank that does. All others get false, also rank 0 if it comes later.
bool claim_report(c10d::Store& store, int64_t rank, int64_t size, const std::string& message);

// Returns whether a process has claimed the report.
bool is_report_claimed(c10d::Store& store);

// Holds the latest heartbeat of a rank.
struct RankStatus {
  std::string process;         // see this_process(); "" if the rank has sent no heartbeat yet
  int64_t num_operations = 0;  // collective operations that the rank has begun
  bool writes_files = false;
  bool has_left = false;
  int64_t num_silent_rounds = 0;  // rounds of this process since the heartbeat last changed
  std::chrono::milliseconds silence{
      0};  // from then until the last round; time without an answer of the store is not in it
};

// The state that the thread has read. Silence is time during which this process ran: if it was suspended together with
// others of its terminal, its own pause does not count as silence of the others. It is not a number of rounds, because
// a round takes any time where the network loses packets.
struct RunStatus {
  int64_t step = 0;        // the step of this process and so of all ranks, from 1; 0 before the first
  int64_t num_rounds = 0;  // does not change while the store does not answer
  std::chrono::milliseconds store_silence{0};  // since the last round
  bool is_store_gone = false;
  std::vector<RankStatus> ranks;
  std::optional<RankFailure> failure;
};

class Heartbeat {
 public:
  Heartbeat(c10d::Store& store, int64_t rank, int64_t size);
  // Sends a last heartbeat, which says that this process leaves. Does not wait long for a store that does not answer.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  void set_step(int64_t step);
  void set_writing(bool writes_files);  // calls may be nested
  int64_t count_operation();            // returns the number of operations that this process has begun
  int64_t num_operations() const;

  RunStatus status() const;

  // Reads the store repeatedly until `is_enough` is true, for at most `longest`; returns the last state.
  RunStatus poll_until(std::chrono::milliseconds longest, const std::function<bool(const RunStatus&)>& is_enough);

 private:
  struct Shared;
  void request_poll();  // does not wait for the thread

  std::shared_ptr<Shared> shared_;  // the thread shares it and may outlive this object if the store does not answer
};

// Returns for example "rank 1 of 4 (process 4711 of node7, step 812)".
std::string name_of_rank(const RunStatus& status, int64_t rank);

// These functions send the heartbeats of a process that has no Heartbeat: the first, and the one that says that the
// process leaves.
void put_heartbeat(c10d::Store& store, int64_t rank);
void put_departure(c10d::Store& store, int64_t rank);

// Returns whether the rank has sent no heartbeat for this time, as far as the store has answered.
bool is_silent(const RankStatus& status, std::chrono::milliseconds time);

// Returns whether the store gives no answers, so that it is faster to ask the ranks themselves (links.h).
bool is_store_silent(const RunStatus& status);

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
// message begins with kCannotReach; it is to be stored as the failure of this process.
class BrokenLink : public UserError {
 public:
  static constexpr const char* kCannotReach = "cannot reach ";
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
