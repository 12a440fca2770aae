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

// Long short-term memory (Hochreiter and Schmidhuber 1997) with the forget gate of Gers, Schmidhuber and Cummins 2000,
// no peepholes:
//   i = sigmoid(W_ii x + b_ii + W_hi h + b_hi)        f = sigmoid(W_if x + b_if + W_hf h + b_hf)
//   g =     act(W_ig x + b_ig + W_hg h + b_hg)        o = sigmoid(W_io x + b_io + W_ho h + b_ho)
//   c' = f * c + i * g                                h' = o * act(c')
// Eight GEMMs a step. act is tanh, or what `activation` says.

class LstmCell : public NaiveCell {
 public:
  LstmCell(const DirectionWeights& weights, Activation activation);
  StepState step(const at::Tensor& x, const StepState& state) const override;

 private:
  Gate input_, forget_, candidate_, output_;
  Activation activation_;
};

// Gated recurrent unit (Cho et al. 2014, arXiv 1406.1078), in both forms of its reset gate:
//   r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)        z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)
//   after:   n = act(W_in x + b_in + r * (W_hn h + b_hn))      cuDNN's and PyTorch's form
//   before:  n = act(W_in x + b_in + W_hn (r * h) + b_hn)      the paper's form
//   h' = (1 - z) * n + z * h
// Six GEMMs a step. act is tanh, or what `activation` says.

class GruCell : public NaiveCell {
 public:
  GruCell(const DirectionWeights& weights, Activation activation, ResetGate reset_gate);
  StepState step(const at::Tensor& x, const StepState& state) const override;

 private:
  Gate reset_, update_, candidate_;
  Activation activation_;
  ResetGate reset_gate_;
};

// The simple recurrent network (Elman 1990):
//   h' = act(W_i x + b_i + W_h h + b_h)
// Two GEMMs a step. act is tanh or relu, which the cell's name says.

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
