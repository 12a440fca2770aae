// SPDX-License-Identifier: Apache-2.0
// Computes an operation of a program for all units and sequences of a step by one of LibTorch's operators, on the CPU
// and on CUDA. Leaves are up to the caller, because where their values lie differs.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <span>

#include "layers/program/graph.h"

namespace rnnlab {

// A number of the equations stays a number, so that its type does not change that of a result.
struct Operand {
  at::Tensor tensor;
  std::optional<double> number;
};

// Returns the value of an operation that is not a leaf. `like`: (B, H), of the type of the step's numbers.
at::Tensor compute(Operation operation, std::span<const Operand> operands, const at::Tensor& like);

// Returns a value for each sequence and unit: a number and a learned vector have none for sequences.
at::Tensor whole(const Operand& operand, const at::Tensor& like);

}  // namespace rnnlab
