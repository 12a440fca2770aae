// A sign of life of this process for the others of its run, in the store that all of them reach: a thread renews it
// twice a second. Where an operation with the others fails, who gave none since tells which of them is stopped or gone.
#pragma once

#include <cstdint>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace rnnlab {

class Heartbeat {
 public:
  // By a connection of its own.
  Heartbeat(c10d::Store& store, int64_t rank);

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  std::jthread thread_;
};

// The latest sign of each rank; "" of one that gave none. The text means nothing but to process_of().
std::vector<std::string> beats_in(c10d::Store& store, int64_t num_ranks);

// "process 4711 of node7"; "an unknown process" where there is no sign.
std::string process_of(const std::string& beat);

}  // namespace rnnlab
