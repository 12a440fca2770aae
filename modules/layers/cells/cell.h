// SPDX-License-Identifier: Apache-2.0
// Defines the record of a recurrent cell: its states, parameters, the options that it reads, and its equations for
// `naive`. Each cell has a file in this folder with its record, and a line in cell_list.inc. The record leaves out
// which layers compute the cell: each layer lists its cells (layer_kind.h). Plain values without LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layers/recurrent_options.h"

namespace at {
class Tensor;
}

namespace rnnlab {

class CellEquations;  // cells/equations.h

// The cells that PyTorch, cuDNN, oneDNN and Keras have. Code for only these cells switches over this enum without a
// default, so that it never confuses two cells.
enum class LibraryCell { kLstm, kGru, kRnnTanh, kRnnRelu };

// Why no layer can compute some options.
struct Contradiction {
  std::vector<std::string> keys;  // of `model:`
  std::string message;            // "only gru has a reset gate"
  std::string opening = {};       // that the message needs without the keys: "reset_gate: before means nothing ...; "
};

// The name is "weight_ih" in a cell's record, and "weight_ih_l0_reverse" in a layer (parameters.h).
struct ParameterSpec {
  std::string name;
  std::vector<int64_t> shape;
};

// Describes a cell with H hidden units and G gates.
struct CellInfo {
  std::string_view description;          // a short description for people
  int64_t num_gates = 1;                 // G: weight_ih has G * H rows
  std::vector<std::string_view> states;  // "hidden", which is also the output, then states that only the cell reads
  std::vector<RecurrentOption> options = {};  // the options of cells that its equations read
  std::optional<LibraryCell> library = {};    // the same cell in libraries, if they have it

  // Returns the parameters of one direction of a layer that reads vectors of `num_inputs`.
  std::vector<ParameterSpec> (*parameters)(const RecurrentOptions& options, int64_t num_inputs) = nullptr;

  // Returns the equations with these weights, which are in the order of `parameters`.
  std::unique_ptr<CellEquations> (*equations)(const RecurrentOptions& options,
                                              std::span<const at::Tensor> weights) = nullptr;

  // Returns why the values of options that the cell reads do not fit together. Null if all of them do.
  std::optional<Contradiction> (*fault)(const RecurrentOptions& options) = nullptr;
};

const CellInfo& info_of(Cell cell);

// Returns every cell, in the order of the list.
std::vector<Cell> all_cells();

// Returns the rows of weight_ih in units of hidden_size: 4 for LSTM (i, f, g, o), 3 for GRU (r, z, n), 1 for the plain
// cells.
int64_t num_gates(Cell cell);

// Returns whether the cell has a second state, the cell state of an LSTM.
bool has_cell_state(Cell cell);

// Returns the corresponding cell in libraries. Throws InvariantError if libraries do not have the cell.
LibraryCell library_cell(Cell cell);

// Returns parameters as in torch.nn: weight_ih (G * H, I), weight_hh (G * H, H), bias_ih and bias_hh (G * H).
std::vector<ParameterSpec> library_parameters(const RecurrentOptions& options, int64_t num_inputs);

// Returns parameters of gates that read only the input: weight_ih (G * H, I) and bias_ih (G * H).
std::vector<ParameterSpec> input_parameters(const RecurrentOptions& options, int64_t num_inputs);

// Returns every cell with its description: "lstm: long short-term memory; gru: ...".
std::string described_cells();

// An option with another value than its usual one.
struct UsedOption {
  RecurrentOption option;
  std::string_view key;         // "reset_gate"
  std::string_view noun = {};   // what the cells with the option have, "a reset gate"; "" for options of every cell
  int64_t number = 0;           // of the value, if it is one of an enumeration
  std::string value = {};       // "before"
  std::string_view usual = {};  // "after", if it is one of an enumeration
};

// Returns the options that these settings use, in the order of the list.
std::vector<UsedOption> used_options(const RecurrentOptions& options);

// Returns options that each use one option of this cell: with each other value of an enumeration, or one number.
std::vector<RecurrentOptions> unusual_options(Cell cell);

// Returns the cells that read the option, such as "lstm and gru".
std::string cells_with(RecurrentOption option);

// Returns each option that is used although the cell does not read it, and why the values of options that the cell
// reads do not fit together.
std::vector<Contradiction> contradictions(const RecurrentOptions& options);

}  // namespace rnnlab
