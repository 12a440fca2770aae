// `fused`: torch::nn::LSTM, GRU or RNN over the whole stack: cuDNN on CUDA, oneDNN or LibTorch's own loop on the CPU
// (execution_path.h tells which). Lengths go through packed sequences. Does not do activations other than tanh in LSTM
// and GRU, nor the reset gate before the product. With dropout between layers the stack runs layer by layer
// (layer_groups.h).
#pragma once

#include <torch/nn/modules/rnn.h>

#include <variant>
#include <vector>

#include "recurrent/recurrent_layer.h"

namespace rnnlab {

// torch::nn's recurrent functions in the type that CUDA autocast was asked for. LibTorch's own rule converts cuDNN's
// operands to float16 whatever that type is (aten/src/ATen/cudnn/AutocastRNN.cpp in 2.11), so that a run in bfloat16
// would compute in another precision unseen. Here the weights are converted as autocast would, into one piece of memory
// laid out as cuDNN wants it, and gradients flow back to the float32 weights.

enum class Mode { kEvaluation, kTraining };

// options: without dropout. weights: as parameter_specs(options) lists them. Everything else as RecurrentLayer::run.
// The result is in `type`.
RecurrentResult run_converted(const RecurrentOptions& options, const std::vector<at::Tensor>& weights, Mode mode,
                              at::ScalarType type, const at::Tensor& input, const RecurrentState& initial,
                              const at::Tensor& lengths);

// `weights` in `type`, as views of one buffer: the matrices of all layers, then their biases. Differentiable.
std::vector<at::Tensor> converted_weights(const std::vector<at::Tensor>& weights, at::ScalarType type);

class FusedLayer : public RecurrentLayer {
 public:
  explicit FusedLayer(const RecurrentOptions& options);
  LayerKind kind() const override { return LayerKind::kFused; }

  // cuDNN wants all weights in one piece of memory; moving the module breaks it up, so these put it together again.
  // Copying into the parameters keeps it.
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
  RecurrentResult run_autocast(size_t group, const at::Tensor& input, const RecurrentState& initial,
                               const at::Tensor& lengths);
  void flatten();

  std::vector<RecurrentOptions> groups_;
  // Of the groups. Not submodules: their parameters are registered here, without a prefix, as the very same tensors.
  std::vector<Stack> stacks_;
};

}  // namespace rnnlab
