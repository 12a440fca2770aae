// SPDX-License-Identifier: Apache-2.0
// A network's weights without names, as the common form of all layouts: the tensors have PyTorch's shapes and order of
// gates and two biases. Also the record of a layout, which converts a file to this form and back.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "layers/parameters.h"
#include "layers/recurrent_options.h"
#include "results/checkpoint/safetensors.h"

namespace rnnlab {

inline constexpr const char* kRecurrentPrefix = "recurrent.";  // of the recurrent layers in rnnlab's models
inline constexpr const char* kCategoryPrefix = "category";     // of the vectors of data.categories, before a number

// The function of the weights, beyond their sizes. A file may leave values out: the weights of a plain cell are the
// same for tanh and relu, and PyTorch's tensors of a GRU are the same for both positions of its reset gate.
struct LayoutMetadata {
  std::optional<Cell> cell = {};
  // The options of cells. Files have those of an enumeration; the sizes of the tensors show `heads`.
#define RNNLAB_CELL_OPTION(enumerator, name, type, usual, noun, help) std::optional<type> name = {};
#include "layers/option_list.inc"
  bool is_tied = false;                         // a language model's output layer uses the weights of its embedding
  std::vector<CategoryColumn> categories = {};  // the values of each row of NetworkWeights::categories
  std::string program = {};  // the hash of a cell of the user's own (cells/cell.h); "" for a cell of the list
};

struct LinearWeights {
  at::Tensor weight;  // (outputs, inputs)
  at::Tensor bias;    // (outputs)
};

struct NetworkWeights {
  RecurrentOptions options;                 // values that the file does not state are as in RecurrentOptions{}
  LayoutMetadata metadata;                  // the part of the options that the file states
  std::vector<DirectionWeights> recurrent;  // layer 0 forward, layer 0 reverse, layer 1 forward ...; slstm: no bias_hh
  at::Tensor embedding;                     // (vocabulary, vector), or undefined
  std::vector<LinearWeights> dense;         // the last is the output layer; empty: only recurrent layers
  std::vector<at::Tensor> categories = {};  // for each column of data.categories (values, vector)
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

// The record of a layout, in the layout's own file; layouts.h lists the layouts.
struct LayoutInfo {
  bool has_own_cells = false;        // also the cells that libraries do not have
  TensorMetadata own_metadata = {};  // that other programs expect in the file

  // Returns whether the names are those of the layout's recurrent layers.
  bool (*has_names)(const TensorFile& file) = nullptr;

  // Reads float32 tensors. Throws UserError kCheckpoint for tensors that are missing, different or unexpected.
  NetworkWeights (*read)(const TensorFile& file) = nullptr;

  // Returns contiguous tensors. Throws UserError kUsage if the layout cannot represent the network's function. Null if
  // rnnlab only reads the layout.
  std::vector<NamedTensor> (*tensors)(const NetworkWeights& network) = nullptr;

  // Returns the library's layer with these weights, for a cell that libraries have.
  std::string (*layer_text)(const RecurrentOptions& options) = nullptr;

  // Returns the differences between this layer and the network. Null if there are no differences.
  std::vector<std::string> (*notes)(const RecurrentOptions& options) = nullptr;
};

// Returns a network without tensors and sizes, with the values in the metadata; every layout's `read` begins with it.
// Throws UserError kCheckpoint for an unknown value, and for a cell that libraries do not have.
NetworkWeights start_network(const TensorFile& file);

// Sets the cell of the tensors; kRnnTanh stands for both plain cells, which have equal tensors. Throws UserError
// kCheckpoint if the metadata contradict it.
void set_cell(NetworkWeights& network, Cell cell, const TensorFile& file);

// Sets the reset gate of a GRU. Throws UserError kCheckpoint if the metadata contradict it.
void set_reset_gate(NetworkWeights& network, ResetGate reset_gate, const TensorFile& file);

// Returns the cell and those of its options that the cell reads.
LayoutMetadata function_of(const RecurrentOptions& options);

// Returns what the file's metadata say. Throws UserError kCheckpoint for an unknown value.
LayoutMetadata stated_in(const TensorFile& file);

// Returns the entries of a file's metadata that stated_in reads.
TensorMetadata to_entries(const LayoutMetadata& metadata);

// Checks that the weights of the file belong to the function that `options` describe, as far as the file states it.
// Throws UserError kCheckpoint with the setting of the model to change.
void require_same_function(const LayoutMetadata& metadata, const RecurrentOptions& options, const std::string& file);

// Checks that the file's vectors of categories, if it states their values, belong to `categories`. Throws UserError
// kCheckpoint with the first column or value that differs.
void require_same_categories(const TensorFile& file, const std::vector<CategoryColumn>& categories);

}  // namespace rnnlab
