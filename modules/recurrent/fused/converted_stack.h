// torch::nn's recurrent functions in the type that CUDA autocast was asked for. LibTorch's own rule converts cuDNN's
// operands to float16 whatever that type is (aten/src/ATen/cudnn/AutocastRNN.cpp in 2.11), so that a run in bfloat16
// would compute in another precision unseen. Here the weights are converted as autocast would, into one piece of memory
// laid out as cuDNN wants it, and gradients flow back to the float32 weights.
#pragma once

#include "recurrent/recurrent_layer.h"

namespace rnnlab {

enum class Mode { kEvaluation, kTraining };

// options: without dropout. weights: as parameter_specs(options) lists them. Everything else as RecurrentLayer::run.
// The result is in `type`.
RecurrentResult run_converted(const RecurrentOptions& options, const std::vector<at::Tensor>& weights, Mode mode,
                              at::ScalarType type, const at::Tensor& input, const RecurrentState& initial,
                              const at::Tensor& lengths);

// `weights` in `type`, as views of one buffer: the matrices of all layers, then their biases. Differentiable.
std::vector<at::Tensor> converted_weights(const std::vector<at::Tensor>& weights, at::ScalarType type);

}  // namespace rnnlab
