// A network's weights without names: what every layout of them says in its own way. The tensors inside are PyTorch's:
// their shapes, their order of gates, two biases.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "recurrent/parameters.h"
#include "recurrent/recurrent_options.h"

namespace rnnlab {

// What weights are for, beyond their sizes. A file need not say all of it: the weights of a plain cell are the same for
// tanh and relu, and PyTorch's tensors of a GRU the same for both places of its reset gate.
struct LayoutMetadata {
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
  LayoutMetadata known;                     // of them
  std::vector<DirectionWeights> recurrent;  // layer 0 forward, layer 0 reverse, layer 1 forward ...
  at::Tensor embedding;                     // (vocabulary, vector), or undefined
  std::vector<LinearWeights> dense;         // the last is the output layer; empty: the recurrent layers alone
};

// The gates of a weight or bias: its rows in equal blocks, one a gate. What the layouts of libraries differ in.

// (G * H, ...) with its G blocks in another order: block i of the result is block order[i].
at::Tensor reordered(const at::Tensor& rows, const std::vector<int64_t>& order);

DirectionWeights reordered(const DirectionWeights& weights, const std::vector<int64_t>& order);

// The rows of the second below those of the first; so many rows from one on.
DirectionWeights stacked(const DirectionWeights& first, const DirectionWeights& second);
DirectionWeights rows_of(const DirectionWeights& weights, int64_t from, int64_t num_rows);

// A bias as two equal ones that add up to it, exactly but for subnormal numbers.
at::Tensor half(const at::Tensor& bias);

}  // namespace rnnlab
