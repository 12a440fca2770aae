// Checkpoints small enough to damage bit by bit, and large enough to be killed in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace rnnlab::testing {

// Tensors and the bytes behind them: number i of a tensor is made of bytes of value i % 2.
class SampleTensors {
 public:
  void add(TensorSpec spec);
  const std::vector<TensorView>& views() const { return views_; }

 private:
  std::vector<TensorView> views_;
  std::map<std::string, std::vector<std::byte>> bytes_;
};

// Of a model with `hidden_size`, its optimiser and a state that names the step.
CheckpointContents sample_contents(int64_t step, int64_t hidden_size = 2);

}  // namespace rnnlab::testing
