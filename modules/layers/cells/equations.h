// SPDX-License-Identifier: Apache-2.0
// One step of one direction of one layer, and the parts from which the cells' equations are built. Every operation is
// one operation of LibTorch, on the CPU and on CUDA, and autograd differentiates it.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>

#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "layers/cells/cell.h"

namespace rnnlab {

using CellStates = std::vector<at::Tensor>;       // (B, H) each, in the order of the record: the hidden state first
using CellWeights = std::span<const at::Tensor>;  // in the order of the record's parameters

class CellEquations {
 public:
  virtual ~CellEquations() = default;

  // Returns the states after this step. x: (B, I).
  virtual CellStates step(const at::Tensor& x, const CellStates& states) const = 0;
};

// Implements CellInfo::equations with a class that is constructed from the options and the weights.
template <class Equations>
std::unique_ptr<CellEquations> make_equations(const RecurrentOptions& options, CellWeights weights) {
  return std::make_unique<Equations>(options, weights);
}

// Computes one gate of library_parameters, W x + b_i + U h + b_h, from (H, I) and (H, H) slices of the stacked weights.
class Gate {
 public:
  Gate(CellWeights weights, int64_t index) {
    const int64_t hidden_size = weights[1].size(1);
    const auto rows = [&](const at::Tensor& stacked) { return stacked.narrow(0, index * hidden_size, hidden_size); };
    weight_ih_ = rows(weights[0]);
    weight_hh_ = rows(weights[1]);
    bias_ih_ = rows(weights[2]);
    bias_hh_ = rows(weights[3]);
  }

  at::Tensor of_input(const at::Tensor& x) const { return at::linear(x, weight_ih_, bias_ih_); }
  at::Tensor of_hidden(const at::Tensor& h) const { return at::linear(h, weight_hh_, bias_hh_); }
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& h) const { return of_input(x) + of_hidden(h); }

 private:
  at::Tensor weight_ih_, weight_hh_, bias_ih_, bias_hh_;
};

// Computes one gate of input_parameters, W x + b.
class InputGate {
 public:
  InputGate(CellWeights weights, int64_t index, int64_t hidden_size)
      : weight_(weights[0].narrow(0, index * hidden_size, hidden_size)),
        bias_(weights[1].narrow(0, index * hidden_size, hidden_size)) {}

  at::Tensor operator()(const at::Tensor& x) const { return at::linear(x, weight_, bias_); }

 private:
  at::Tensor weight_, bias_;
};

// Returns the candidate state of minGRU and minLSTM.
inline at::Tensor candidate_of(Candidate form, const at::Tensor& x) {
  switch (form) {
    case Candidate::kPositive:
      return at::where(x >= 0, x + 0.5, at::sigmoid(x));
    case Candidate::kLinear:
      return x;
  }
  fail_invariant("a listed candidate", __FILE__, __LINE__, "candidate_of does not know the form");
}

inline at::Tensor activate(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::kTanh:
      return at::tanh(x);
    case Activation::kRelu:
      return at::relu(x);
  }
  fail_invariant("a listed activation", __FILE__, __LINE__, "activate does not know the activation");
}

}  // namespace rnnlab
