// Long short-term memory (Hochreiter and Schmidhuber 1997) with the forget gate of Gers, Schmidhuber and Cummins 2000,
// no peepholes:
//   i = sigmoid(W_ii x + b_ii + W_hi h + b_hi)        f = sigmoid(W_if x + b_if + W_hf h + b_hf)
//   g =     act(W_ig x + b_ig + W_hg h + b_hg)        o = sigmoid(W_io x + b_io + W_ho h + b_ho)
//   c' = f * c + i * g                                h' = o * act(c')
// Eight GEMMs a step. act is tanh, or what `activation` says.
#pragma once

#include "recurrent/naive/naive_cell.h"

namespace rnnlab {

class LstmCell : public NaiveCell {
 public:
  LstmCell(const DirectionWeights& weights, Activation activation);
  StepState step(const at::Tensor& x, const StepState& state) const override;

 private:
  Gate input_, forget_, candidate_, output_;
  Activation activation_;
};

}  // namespace rnnlab
