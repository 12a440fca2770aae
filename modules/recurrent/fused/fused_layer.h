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
