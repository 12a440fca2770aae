// Random problems for the reference and the layers, a pure function of shape and seed.
#pragma once

#include "recurrent/reference.h"

namespace rnnlab::reference {

enum class Start { kZeros, kGiven };     // initial state
enum class Lengths { kWhole, kVaried };  // kVaried: 1 to T, unordered

struct Shape {
  int64_t num_steps = 5, batch_size = 3;
  Start start = Start::kGiven;
  Lengths lengths = Lengths::kWhole;
};

// Values from N(0, 1), weights from U(-0.9, 0.9) / sqrt(columns), pairs of biases that add up to about -1 or 1. Redrawn
// until nothing comes as near to a relu's kink as `distance_to_kink`: a layer that rounds to the other side of it has
// another gradient, and is not wrong.
Problem random_problem(const RecurrentOptions& options, const Shape& shape, double distance_to_kink = 0);

// Random gradients of output and final states.
Result random_upstream(const Problem& problem);

// Every option that changes what is computed: layers {1, 2}, directions {1, 2}.
std::vector<RecurrentOptions> stacks_of(RecurrentOptions options);

// The vectors of a set of weights, in the order of the parameters.
std::vector<Vector*> vectors_of(std::vector<Weights>& weights);

}  // namespace rnnlab::reference
