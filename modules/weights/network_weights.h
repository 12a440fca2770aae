// A network's weights without names: what every layout of them says in its own way. The tensors inside are PyTorch's:
// their shapes, their order of gates, two biases.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "recurrent/direction_weights.h"
#include "recurrent/recurrent_options.h"

namespace rnnlab {

// What weights are for, beyond their sizes. A file need not say all of it: the weights of a plain cell are the same for
// tanh and relu, and PyTorch's tensors of a GRU the same for both places of its reset gate.
struct FunctionFacts {
  std::optional<Cell> cell;
  std::optional<ResetGate> reset_gate;
  std::optional<Activation> activation;
  bool is_tied = false;  // a language model's output layer multiplies by the table of its embedding
};

struct LinearWeights {
  at::Tensor weight;  // (outputs, inputs)
  at::Tensor bias;    // (outputs)
};

struct NetworkWeights {
  RecurrentOptions options;                 // what the file does not say is as in a RecurrentOptions{}
  FunctionFacts known;                      // of them
  std::vector<DirectionWeights> recurrent;  // layer 0 forward, layer 0 reverse, layer 1 forward ...
  at::Tensor embedding;                     // (vocabulary, vector), or undefined
  std::vector<LinearWeights> dense;         // the last is the output layer; empty: the recurrent layers alone
};

}  // namespace rnnlab
