// Sends signs of life of this process to the other processes of its run, through the store that all of them reach, and
// reads theirs. A thread renews the sign twice a second and reads the other signs at the same time, through its own
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

#include "base/error.h"
#include "distributed/ranks.h"

namespace rnnlab {

// The store also has the reason why a run of several processes ends: the first failure, and which process reports it to
// the user. A process that was started for the run but cannot join the others uses the same keys.

// Convert a text to and from the form of the store.
std::vector<uint8_t> bytes_of(const std::string& text);
std::string text_at(c10d::Store& store, const std::string& key);  // the key must exist

struct RankFailure {
  int64_t rank = 0;
  ExitCode exit_code = ExitCode::kInternal;
  std::string message;
};

// Stores a failure; a second failure does not replace the first. This function and those below throw if the store
// cannot be reached.
void put_failure(c10d::Store& store, const RankFailure& failure);
std::optional<RankFailure> failure_in(c10d::Store& store);

// Returns true for the one process that reports to the user why the run ended: rank 0, or, if rank 0 does not do so
// within three seconds, the first other rank that asks. Returns false if another process reports the message.
bool is_to_tell(c10d::Store& store, int64_t rank, const std::string& message);

// Holds the latest sign of a rank.
struct Sign {
  std::string process;         // "process 4711 of node7"; "" if the rank has sent no sign yet
  int64_t num_operations = 0;  // collective operations that the rank has begun
  bool writes_files = false;
  bool has_left = false;
  int64_t num_silent_rounds = 0;  // rounds of this process since the sign last changed
};

// The state that the thread has read. Silence is counted in rounds instead of seconds: if this process was suspended
// together with others of its terminal, its own pause does not count as silence of the others.
struct Seen {
  int64_t step = 0;        // the step of this process and so of all ranks, from 1; 0 before the first
  int64_t num_rounds = 0;  // does not change while the store does not answer
  bool is_store_gone = false;
  std::vector<Sign> signs;
  std::optional<RankFailure> failure;
};

class Heartbeat {
 public:
  Heartbeat(c10d::Store& store, int64_t rank, int64_t size);
  // Sends the sign that this process leaves. Does not wait long for a store that does not answer.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  void set_step(int64_t step);
  void set_writing(bool writes_files);  // calls may be nested
  int64_t count_operation();            // returns the number of operations that this process has begun
  int64_t num_operations() const;

  Seen seen() const;

  // Reads the store repeatedly until `is_enough` is true, for at most `longest`; returns the last state.
  Seen look_until(std::chrono::milliseconds longest, const std::function<bool(const Seen&)>& is_enough);

 private:
  struct Shared;
  void look_now();  // does not wait for the thread

  std::shared_ptr<Shared> shared_;  // the thread shares it and may outlive this object if the store does not answer
};

// Returns for example "rank 1 of 4 (process 4711 of node7, step 812)".
std::string name_of_rank(const Seen& seen, int64_t rank);

// Send the signs of a process that has no Heartbeat.
void put_sign_of_life(c10d::Store& store, int64_t rank);
void put_sign_of_leaving(c10d::Store& store, int64_t rank);

// Limits how long a process waits for the other ranks of its run within one operation, and chooses the ranks that the
// error names. A rank without a sign of life for the whole timeout ends the run. So does a rank that sends signs but
// does not reach the operation, unless a rank writes files, because that may take as long as the disk needs.
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
