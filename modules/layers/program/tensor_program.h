// SPDX-License-Identifier: Apache-2.0
// Runs a cell's program for all units and sequences of one step by LibTorch's operators, on the CPU and on CUDA.
// Autograd differentiates it. Each operation of the equations is one operator, and each side of a gate one product.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "layers/program/cell_program.h"

namespace rnnlab {

using CellStates = std::vector<at::Tensor>;       // (B, H) each: the hidden state first
using CellWeights = std::span<const at::Tensor>;  // in the order of cell_parameters

class TensorProgram {
 public:
  // weights: weight_ih (rows of the gates that read the input, I), weight_hh (rows of the gates that read the hidden
  // state, H / heads), biases, vectors. `program` must outlive the object.
  TensorProgram(const CellProgram& program, CellWeights weights, int64_t hidden_size, int64_t heads);

  // Returns the states after this step. x: (B, I).
  CellStates step(const at::Tensor& x, const CellStates& states) const;

 private:
  struct Side {
    at::Tensor weight;  // (H, I), (H, H), or (heads, H / heads, H / heads) transposed; undefined if it is not read
    at::Tensor bias;    // (H), or undefined
  };

  at::Tensor input_side(size_t gate, const at::Tensor& x) const;
  at::Tensor hidden_side(size_t gate, const at::Tensor& h) const;

  const CellProgram& program_;
  std::vector<Side> input_sides_, hidden_sides_;  // by gate
  std::vector<at::Tensor> vectors_;               // by row, (H)
};

}  // namespace rnnlab
