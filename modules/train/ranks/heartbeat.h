// SPDX-License-Identifier: Apache-2.0
// Sends heartbeats of this process to the other processes of its run, through the store that all of them reach, and
// reads theirs. A thread renews the heartbeat twice a second and reads the others at the same time, through its own
// connection. So a rank that waits for others never reads the store itself, whose process may be suspended.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/ranks/run_failure.h"

namespace rnnlab {

// Holds the latest heartbeat of a rank.
struct RankStatus {
  std::string process;         // see this_process(); "" if the rank has sent no heartbeat yet
  int64_t num_operations = 0;  // collective operations that the rank has begun
  int64_t num_rounds = 0;      // of the rank when it sent the heartbeat
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

}  // namespace rnnlab
