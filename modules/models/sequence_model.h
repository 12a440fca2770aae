// The sequence classifier and the sequence regressor, which are one network: recurrent layers, a sequence pooled to one
// vector, dropout, dense layers, and an output layer without a non-linearity. They differ in the loss alone.
#pragma once

#include <torch/nn/modules/linear.h>

#include <vector>

#include "models/model.h"

namespace rnnlab {

class SequenceModel : public Model {
 public:
  SequenceModel(const ModelSettings& settings, LayerChoice layer, const DataShape& shape);

  // Batch inputs (T, B, F) -> (B, num_outputs). Steps beyond a sequence's length have no influence.
  at::Tensor forward(const Batch& batch) override;

 private:
  // (B, D * H). Last: each direction's output after the last step that it reads, forward then reverse, which is what
  // Keras's Bidirectional and PyTorch's h_n give; the reverse direction ends at the first step.
  at::Tensor pool(const RecurrentResult& result, const at::Tensor& lengths) const;
  // The last dense layer and the output, on a GPU: by operations.h.
  bool can_end_by_own_kernel() const;

  ModelSettings settings_;
  std::vector<torch::nn::Linear> dense_;  // "dense0", "dense1" ...
  torch::nn::Linear output_ = nullptr;    // "output"
};

// (T, B, D * H) -> (B, D * H): the mean over each sequence's own steps. lengths: (B) on the CPU, or undefined.
at::Tensor mean_over_steps(const at::Tensor& outputs, const at::Tensor& lengths);

}  // namespace rnnlab
