// Runs a layer on a reference problem, forward and backward, and the reference on the same, and gives the results of
// both in one form: a list of named vectors in float64.
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

// The problem with every number rounded to `type`, so that a layer of that type and the reference start from the same.
reference::Problem rounded(reference::Problem problem, at::ScalarType type);
reference::Result rounded(reference::Result upstream, at::ScalarType type);

// A layer of the problem's options and weights.
std::shared_ptr<RecurrentLayer> make_layer_for(LayerKind kind, const reference::Problem& problem, const Place& place);

// Results and all gradients of sum(results * upstream). Zero initial states are left undefined, whole lengths too.
Results run(RecurrentLayer& layer, const reference::Problem& problem, const reference::Result& upstream,
            const Place& place);
Results run_reference(const reference::Problem& problem, const reference::Result& upstream);

// Every vector's largest error, relative to its own largest value but at least 1, is within `tolerance`. What only one
// side lists (the gradients of undefined states) is passed over.
void expect_near(const Results& got, const Results& wanted, double tolerance);

}  // namespace rnnlab
