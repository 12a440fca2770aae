#include "checkpoint/sample_checkpoint.h"

namespace rnnlab::testing {

void SampleTensors::add(TensorSpec spec) {
  std::vector<std::byte>& bytes = bytes_[spec.name];
  bytes.resize(static_cast<size_t>(num_bytes(spec).value()));
  const auto number_bytes = static_cast<size_t>(bytes_of(spec.dtype));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i / number_bytes % 2);
  views_.push_back({std::move(spec), bytes});
}

CheckpointContents sample_contents(int64_t step, int64_t hidden_size) {
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
