// The simple recurrent network (Elman 1990):
//   h' = act(W_i x + b_i + W_h h + b_h)
// Two GEMMs a step. act is tanh or relu, which the cell's name says.
#pragma once

#include "recurrent/naive/naive_cell.h"

namespace rnnlab {

class RnnCell : public NaiveCell {
 public:
  RnnCell(const DirectionWeights& weights, Activation activation) : sum_(weights, 0), activation_(activation) {}
  StepState step(const at::Tensor& x, const StepState& state) const override {
    return {activate(activation_, sum_(x, state.hidden)), {}};
  }

 private:
  Gate sum_;
  Activation activation_;
};

}  // namespace rnnlab
