// Gated recurrent unit (Cho et al. 2014, arXiv 1406.1078), in both forms of its reset gate:
//   r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)        z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)
//   after:   n = act(W_in x + b_in + r * (W_hn h + b_hn))      cuDNN's and PyTorch's form
//   before:  n = act(W_in x + b_in + W_hn (r * h) + b_hn)      the paper's form
//   h' = (1 - z) * n + z * h
// Six GEMMs a step. act is tanh, or what `activation` says.
#pragma once

#include "recurrent/naive/naive_cell.h"

namespace rnnlab {

class GruCell : public NaiveCell {
 public:
  GruCell(const DirectionWeights& weights, Activation activation, ResetGate reset_gate);
  StepState step(const at::Tensor& x, const StepState& state) const override;

 private:
  Gate reset_, update_, candidate_;
  Activation activation_;
  ResetGate reset_gate_;
};

}  // namespace rnnlab
