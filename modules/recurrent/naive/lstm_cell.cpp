#include "recurrent/naive/lstm_cell.h"

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

}  // namespace rnnlab
