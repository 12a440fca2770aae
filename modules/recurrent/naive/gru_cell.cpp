#include "recurrent/naive/gru_cell.h"

#include <ATen/ops/sigmoid.h>

namespace rnnlab {

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
