// SPDX-License-Identifier: Apache-2.0
// Makes random problems for the reference and the layers, as a pure function of shape and seed.
#pragma once

#include "layers/reference.h"

namespace rnnlab::reference {

enum class Start { kZeros, kGiven };     // initial state
enum class Lengths { kWhole, kVaried };  // kVaried: 1 to T, unordered
enum class Starts { kNone, kSome };      // kSome: within sequences, also at the first step and at neighbours

struct Shape {
  int64_t num_steps = 5, batch_size = 3;
  Start start = Start::kGiven;
  Lengths lengths = Lengths::kWhole;
  Starts starts = Starts::kNone;
  bool returns_all_states = false;

  bool operator==(const Shape&) const = default;
};

// Returns values from N(0, 1), weights from U(-0.9, 0.9) / sqrt(columns), and pairs of biases with sums of about -1 or
// 1. The numbers of a sequence are drawn again until no argument of a relu is nearer to the kink than
// `distance_to_kink`, because a layer that rounds to the other side of the kink has a different gradient without being
// wrong.
Problem random_problem(const RecurrentOptions& options, const Shape& shape, double distance_to_kink = 0);

// Returns random gradients of output and final states.
Result random_upstream(const Problem& problem);

// Returns options with every combination of layers {1, 2} and directions {1, 2}.
std::vector<RecurrentOptions> stacks_of(RecurrentOptions options);

// Returns the vectors of a set of weights, in the order of the parameters.
std::vector<Vector*> vectors_of(std::vector<Weights>& weights);

}  // namespace rnnlab::reference
