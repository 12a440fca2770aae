#include "recurrent/naive/naive_cell.h"

#include <ATen/ops/sigmoid.h>

namespace rnnlab {

LstmCell::LstmCell(const DirectionWeights& weights, Activation activation)
    : input_(weights, 0), forget_(weights, 1), candidate_(weights, 2), output_(weights, 3), activation_(activation) {}

StepState LstmCell::step(const at::Tensor& x, const StepState& state) const {
  const auto& [h, c] = state;
  const at::Tensor i = at::sigmoid(input_(x, h));
  const at::Tensor f = at::sigmoid(forget_(x, h));
  const at::Tensor g = activate(activation_, candidate_(x, h));
  const at::Tensor o = at::sigmoid(output_(x, h));
  const at::Tensor new_c = f * c + i * g;
  return {o * activate(activation_, new_c), new_c};
}

GruCell::GruCell(const DirectionWeights& weights, Activation activation, ResetGate reset_gate)
    : reset_(weights, 0),
      update_(weights, 1),
      candidate_(weights, 2),
      activation_(activation),
      reset_gate_(reset_gate) {}

StepState GruCell::step(const at::Tensor& x, const StepState& state) const {
  const at::Tensor& h = state.hidden;
  const at::Tensor r = at::sigmoid(reset_(x, h));
  const at::Tensor z = at::sigmoid(update_(x, h));
  const at::Tensor recurrent =
      reset_gate_ == ResetGate::kAfter ? r * candidate_.of_hidden(h) : candidate_.of_hidden(r * h);
  const at::Tensor n = activate(activation_, candidate_.of_input(x) + recurrent);
  return {(1 - z) * n + z * h, {}};
}

}  // namespace rnnlab
