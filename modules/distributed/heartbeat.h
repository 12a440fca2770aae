// A sign of life of this process for the others of its run, in the store that all of them reach, and what it sees of
// theirs. A thread renews it twice a second and reads those of the others at the same time, by a connection of its own.
// So a rank that waits for others never asks the store itself, whose process may be stopped.
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

namespace rnnlab {

// Why the run of several processes ends, in the store that all of them reach: the first failure, and which process
// tells the user. A process that is started for the run and cannot even join the others uses the same words.

// Texts as the store has them.
std::vector<uint8_t> bytes_of(const std::string& text);
std::string text_at(c10d::Store& store, const std::string& key);  // which is there

struct RankFailure {
  int64_t rank = 0;
  ExitCode exit_code = ExitCode::kInternal;
  std::string message;
};

// The first one stays. Throws where the store is gone, as all below.
void put_failure(c10d::Store& store, const RankFailure& failure);
std::optional<RankFailure> failure_in(c10d::Store& store);

// One process tells the user why the run ended: rank 0, or the first other one after it has waited three seconds for
// that. False for a process whose message is told by another one.
bool is_to_tell(c10d::Store& store, int64_t rank, const std::string& message);

// The latest sign of a rank.
struct Sign {
  std::string process;         // "process 4711 of node7"; "" of a rank that gave none yet
  int64_t num_operations = 0;  // collective operations that it has begun
  bool writes_files = false;
  bool has_left = false;
  int64_t num_silent_rounds = 0;  // how many times this process looked since the sign last changed
};

// What the thread has seen. Rounds are counted instead of seconds, so that a process which was suspended with the
// others of its terminal does not take its own pause for the silence of others.
struct Seen {
  int64_t step = 0;        // at which this process is, and so all ranks are, from 1; 0 before the first
  int64_t num_rounds = 0;  // stands still where the store gives no answer
  bool is_store_gone = false;
  std::vector<Sign> signs;
  std::optional<RankFailure> failure;
};

class Heartbeat {
 public:
  Heartbeat(c10d::Store& store, int64_t rank, int64_t size);
  // Tells the others that this process leaves. Does not wait for a store that gives no answer.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  void set_step(int64_t step);
  void set_writing(bool writes_files);  // may be nested
  int64_t count_operation();            // returns how many this process has begun
  int64_t num_operations() const;

  Seen seen() const;

  // Looks again and again until `is_enough`, for at most `longest`: what was seen last.
  Seen look_until(std::chrono::milliseconds longest, const std::function<bool(const Seen&)>& is_enough);

 private:
  struct Shared;
  void look_now();  // does not wait until the thread has looked

  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this where the store is stopped
};

// "rank 1 of 4 (process 4711 of node7, step 812)"
std::string name_of_rank(const Seen& seen, int64_t rank);

// The signs of a process that has no Heartbeat.
void put_sign_of_life(c10d::Store& store, int64_t rank);
void put_sign_of_leaving(c10d::Store& store, int64_t rank);

}  // namespace rnnlab
