// SPDX-License-Identifier: Apache-2.0
// Checkpoints that are small enough for damaging each bit, or large enough for killing a process while it saves them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "results/checkpoint/checkpoint.h"

namespace rnnlab::testing {

// Holds tensors and their bytes: each byte of element i of a tensor has the value i % 2.
class SampleTensors {
 public:
  void add(TensorSpec spec) {
    std::vector<std::byte>& bytes = bytes_[spec.name];
    bytes.resize(static_cast<size_t>(num_bytes(spec).value()));
    const auto number_bytes = static_cast<size_t>(bytes_of(spec.dtype));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i / number_bytes % 2);
    views_.push_back({std::move(spec), bytes});
  }
  const std::vector<TensorView>& views() const { return views_; }

 private:
  std::vector<TensorView> views_;
  std::map<std::string, std::vector<std::byte>> bytes_;
};

// Returns a model with `hidden_size`, its optimiser and a state that contains the step.
inline CheckpointContents sample_contents(int64_t step, int64_t hidden_size = 2) {
  const auto model = std::make_shared<SampleTensors>();
  model->add({"weight_hh_l0", DType::kF32, {hidden_size, hidden_size}});
  model->add({"bias_hh_l0", DType::kF32, {hidden_size}});
  const auto optimizer = std::make_shared<SampleTensors>();
  optimizer->add({"weight_hh_l0.exp_avg", DType::kF32, {hidden_size, hidden_size}});
  optimizer->add({"weight_hh_l0.step", DType::kI64, {}});
  const auto owner =
      std::make_shared<std::pair<std::shared_ptr<SampleTensors>, std::shared_ptr<SampleTensors>>>(model, optimizer);
  return {.model = model->views(), .optimizer = optimizer->views(), .state = {{"step", step}}, .owner = owner};
}

}  // namespace rnnlab::testing
