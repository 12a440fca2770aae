// One step of one direction of one layer, and the pieces that the cells' equations are written in.
#pragma once

#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/tanh.h>

#include "recurrent/stacked_layer.h"

namespace rnnlab {

class NaiveCell {
 public:
  virtual ~NaiveCell() = default;

  // input: (B, I) -> the state after this step.
  virtual StepState step(const at::Tensor& input, const StepState& state) const = 0;
};

// The rows of one gate: (H, I) and (H, H) slices of the stacked weights.
class Gate {
 public:
  Gate(const DirectionWeights& weights, int64_t index) {
    const int64_t hidden_size = weights.weight_hh.size(1);
    const auto rows = [&](const at::Tensor& stacked) { return stacked.narrow(0, index * hidden_size, hidden_size); };
    rows_ = {rows(weights.weight_ih), rows(weights.weight_hh), rows(weights.bias_ih), rows(weights.bias_hh)};
  }

  at::Tensor of_input(const at::Tensor& x) const { return at::linear(x, rows_.weight_ih, rows_.bias_ih); }
  at::Tensor of_hidden(const at::Tensor& h) const { return at::linear(h, rows_.weight_hh, rows_.bias_hh); }
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& h) const { return of_input(x) + of_hidden(h); }

 private:
  DirectionWeights rows_;
};

inline at::Tensor activate(Activation activation, const at::Tensor& x) {
  return activation == Activation::kTanh ? at::tanh(x) : at::relu(x);
}

}  // namespace rnnlab
