// SPDX-License-Identifier: Apache-2.0
// Runs a layer and the reference on the same problem, forward and backward, and returns the results of both in one
// form: a list of named vectors in float64. Defines the largest allowed errors.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "layers/problems.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {

struct NamedVector {
  std::string name;  // "output", "gradient of weight_ih_l0"
  reference::Vector values;
};
using Results = std::vector<NamedVector>;

struct Place {
  at::ScalarType type = at::kFloat;
  at::Device device = at::kCPU;
};

// Round every number to `type`, so that a layer of that type and the reference start from the same numbers.
reference::Problem rounded(reference::Problem problem, at::ScalarType type);
reference::Result rounded(reference::Result upstream, at::ScalarType type);

// Returns a layer with the problem's options and weights.
std::shared_ptr<RecurrentLayer> make_layer_for(LayerKind kind, const reference::Problem& problem, const Place& place);

// Return the results and all gradients of sum(results * upstream). Zero initial states stay undefined, and so do whole
// lengths.
Results run(RecurrentLayer& layer, const reference::Problem& problem, const reference::Result& upstream,
            const Place& place);
Results run_reference(const reference::Problem& problem, const reference::Result& upstream);

// Returns the output, the final states, and the gradients of their weighted sum with respect to weights and input.
std::vector<at::Tensor> results_and_gradients(RecurrentLayer& layer, const at::Tensor& input, const Segments& segments);

// Checks that every vector's largest error, relative to its own largest value but at least 1, is within `tolerance`.
// Vectors that only one side has (the gradients of undefined states) are skipped.
void expect_near(const Results& got, const Results& wanted, double tolerance);

// ---- the largest allowed error against the float64 reference ----
//
// It is the largest error of a vector relative to its largest value (at least 1). Each bound has its reason.

// The sums have a different order: rounding is 1e-16, over a few hundred terms.
constexpr double kFloat64 = 1e-13;

// Rounding is 6e-8, in sums over five steps and two layers, and oneDNN has its own tanh and sigmoid.
constexpr double kFloat32Cpu = 3e-6;

// cuDNN's fp32 kernels approximate tanh and sigmoid: 3.1e-5 was the largest error of a gradient on an H200. TF32, with
// an error of 1e-3, fails this bound.
constexpr double kFloat32Cuda = 6e-5;

// Every stored state and gradient is rounded to 8 bits (4e-3), over five steps and two layers, forward and backward.
constexpr double kBfloat16 = 6e-2;

// Stored values are rounded to 11 bits (5e-4).
constexpr double kFloat16 = 1e-2;

inline double tolerance_of(at::ScalarType type, at::Device device) {
  if (type == at::kDouble) return kFloat64;
  if (type == at::kBFloat16) return kBfloat16;
  if (type == at::kHalf) return kFloat16;
  return device.is_cuda() ? kFloat32Cuda : kFloat32Cpu;
}

// Returns how far a relu's argument must be from its kink, so that rounding in this type does not cross the kink.
inline double distance_to_kink_of(at::ScalarType type) {
  if (type == at::kBFloat16) return 0.02;
  return type == at::kHalf ? 4e-3 : 1e-3;
}

}  // namespace rnnlab
