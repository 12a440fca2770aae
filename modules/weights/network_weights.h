// A network's weights without names, as the common form of all layouts. The tensors have PyTorch's shapes and order of
// gates and two biases.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "recurrent/parameters.h"
#include "recurrent/recurrent_options.h"

namespace rnnlab {

// The function of the weights, beyond their sizes. A file may leave values out: the weights of a plain cell are the
// same for tanh and relu, and PyTorch's tensors of a GRU are the same for both positions of its reset gate.
struct LayoutMetadata {
  std::optional<Cell> cell;
  std::optional<ResetGate> reset_gate;
  std::optional<Activation> activation;
  bool is_tied = false;  // a language model's output layer uses the weights of its embedding
};

struct LinearWeights {
  at::Tensor weight;  // (outputs, inputs)
  at::Tensor bias;    // (outputs)
};

struct NetworkWeights {
  RecurrentOptions options;                 // values that the file does not state are as in RecurrentOptions{}
  LayoutMetadata known;                     // the part of the options that the file states
  std::vector<DirectionWeights> recurrent;  // layer 0 forward, layer 0 reverse, layer 1 forward ...
  at::Tensor embedding;                     // (vocabulary, vector), or undefined
  std::vector<LinearWeights> dense;         // the last is the output layer; empty: only recurrent layers
};

// The rows of a weight or bias are equal blocks, one for each gate, whose order differs between layouts. Returns the
// rows (G * H, ...) with the G blocks in a different order: block i of the result is block order[i] of `rows`.
at::Tensor reordered(const at::Tensor& rows, const std::vector<int64_t>& order);

DirectionWeights reordered(const DirectionWeights& weights, const std::vector<int64_t>& order);

// stacked() appends the rows of `second` to those of `first`; rows_of() returns `num_rows` rows from row `from` on.
DirectionWeights stacked(const DirectionWeights& first, const DirectionWeights& second);
DirectionWeights rows_of(const DirectionWeights& weights, int64_t from, int64_t num_rows);

// Returns half of a bias. Two halves add up to the bias, exactly except for subnormal numbers.
at::Tensor half(const at::Tensor& bias);

}  // namespace rnnlab
