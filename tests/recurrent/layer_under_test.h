// Runs a layer and the reference on the same problem, forward and backward, and returns the results of both in one
// form: a list of named vectors in float64.
#pragma once

#include <string>
#include <vector>

#include "recurrent/problems.h"
#include "recurrent/recurrent_layer.h"

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

// Checks that every vector's largest error, relative to its own largest value but at least 1, is within `tolerance`.
// Vectors that only one side has (the gradients of undefined states) are skipped.
void expect_near(const Results& got, const Results& wanted, double tolerance);

}  // namespace rnnlab
