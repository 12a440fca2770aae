// SPDX-License-Identifier: Apache-2.0
// Implements `scan`: minGRU and minLSTM, whose gates read only the input, by one GEMM for the inputs of all steps and
// one scan for the states h' = a * h + (1 - a) * n (Feng et al. 2024, arXiv 2410.01201). On a GPU one own kernel
// computes the gates and runs over the steps of all units at once, forward and backward (kernels/gated_scan.h). On a
// GPU for which this build has no code, the scan takes log2(T) rounds of LibTorch's operators. On a CPU one loop runs
// over the steps. The paper scans logarithms, because its form divides. Factors between 0 and 1 need neither logarithms
// nor divisions, and allow states of any sign.
#pragma once

#include "layers/parameters.h"

namespace rnnlab {

// Returns the states h_t = factors_t * h_(t-1) + terms_t, in the order of the steps or with the last step first.
// factors and terms: (T, B, H) float32 or float64, dense; initial: (B, H). A CPU uses one loop over the steps, a GPU
// rounds of operators. The result is not differentiable.
at::Tensor scanned(const at::Tensor& factors, const at::Tensor& terms, const at::Tensor& initial, Direction direction);

// Returns the result of scanned, by rounds of operators on any device.
at::Tensor scanned_by_operators(const at::Tensor& factors, const at::Tensor& terms, const at::Tensor& initial,
                                Direction direction);

}  // namespace rnnlab
