// SPDX-License-Identifier: Apache-2.0
// Implements `fused` by torch::nn::LSTM, GRU or RNN over the whole stack, by cuDNN on CUDA, and by oneDNN or LibTorch's
// own loop on the CPU (execution_path.h reports which). Lengths are passed as packed sequences. Activations other than
// tanh in LSTM and GRU, and the reset gate before the product, are not supported. With dropout between layers the stack
// runs layer by layer (stacked_layer.h).
#pragma once

#include <torch/nn/modules/rnn.h>

#include <variant>
#include <vector>

#include "recurrent/recurrent_layer.h"

namespace rnnlab {

// These functions run torch::nn's recurrent functions in the type that autocast requests, where LibTorch's own rule
// does not. On CUDA it converts cuDNN's operands to float16 for any requested type (aten/src/ATen/cudnn/AutocastRNN.cpp
// in 2.11), so that a run in bfloat16 would silently compute in a different precision. On a CPU without AVX-512 it
// fails, because oneDNN has no LSTM in bfloat16 there; LibTorch's loop computes it here. The weights are converted as
// autocast would, into one piece of memory in cuDNN's layout, and gradients flow back to the float32 weights.

enum class Mode { kEvaluation, kTraining };

// options: without dropout. weights: in the order of parameter_specs(options). The other arguments are those of
// RecurrentLayer::run. The result is in `type`.
RecurrentResult run_converted(const RecurrentOptions& options, const std::vector<at::Tensor>& weights, Mode mode,
                              at::ScalarType type, const at::Tensor& input, const RecurrentState& initial,
                              const at::Tensor& lengths);

// Returns `weights` in `type`, as views of one buffer: the matrices of all layers, then their biases. Differentiable.
std::vector<at::Tensor> converted_weights(const std::vector<at::Tensor>& weights, at::ScalarType type);

class FusedLayer : public RecurrentLayer {
 public:
  explicit FusedLayer(const RecurrentOptions& options);
  LayerKind kind() const override { return LayerKind::kFused; }

  // Moving the module separates the weights, so these functions join them again.
  bool keeps_weights_in_one_piece() const override { return true; }
  void to(torch::Device device, torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Device device, bool non_blocking = false) override;
  void train(bool on = true) override;

 private:
  using Stack = std::variant<torch::nn::LSTM, torch::nn::GRU, torch::nn::RNN>;

  static Stack make_stack(const RecurrentOptions& options);
  RecurrentResult run(const at::Tensor& input, const RecurrentState& initial, const at::Tensor& lengths) override;
  RecurrentResult run_stack(size_t group, const at::Tensor& input, const RecurrentState& initial,
                            const at::Tensor& lengths);
  RecurrentResult run_autocast(at::ScalarType type, size_t group, const at::Tensor& input,
                               const RecurrentState& initial, const at::Tensor& lengths);
  void flatten();

  std::vector<RecurrentOptions> groups_;
  // Holds the modules of the groups. The modules are not submodules, because this layer registers their parameters
  // without a prefix, as the same tensors.
  std::vector<Stack> stacks_;
};

}  // namespace rnnlab
