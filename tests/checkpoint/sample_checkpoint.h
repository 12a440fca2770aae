// Checkpoints that are small enough for damaging each bit, or large enough for killing a process while it saves them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace rnnlab::testing {

// Holds tensors and their bytes: each byte of element i of a tensor has the value i % 2.
class SampleTensors {
 public:
  void add(TensorSpec spec);
  const std::vector<TensorView>& views() const { return views_; }

 private:
  std::vector<TensorView> views_;
  std::map<std::string, std::vector<std::byte>> bytes_;
};

// Returns a model with `hidden_size`, its optimiser and a state that contains the step.
CheckpointContents sample_contents(int64_t step, int64_t hidden_size = 2);

}  // namespace rnnlab::testing
