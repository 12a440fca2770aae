// SPDX-License-Identifier: Apache-2.0
// Defines the record of a recurrent cell: its equations, and the options that it reads. Each cell has a file in this
// folder with its record, and a line in cell_list.inc. The record leaves out which layers compute the cell: each layer
// lists its cells (layer_kind.h). Plain values without LibTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layers/program/parse_cell.h"
#include "layers/recurrent_options.h"

namespace rnnlab {

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

struct CellInfo {
  std::string_view description;          // a short description for people
  std::vector<std::string_view> states;  // as people call them: "hidden", which is also the output, and the others

  // The equations, with words in capitals where an option of the cell decides: ACTIVATION, RESET_PRODUCT, CANDIDATE.
  CellText text;
  std::vector<RecurrentOption> options = {};  // the options of cells that these words, or heads, stand for
  std::optional<LibraryCell> library = {};    // the same cell in libraries, if they have it
};

const CellInfo& info_of(Cell cell);

// Returns the cell with these equations: a cell of the list if they are its own, however they are written; otherwise
// one that is known to this process from now on. Equal programs are one cell. Returns nullopt if the text has mistakes
// (parse_cell).
std::optional<Cell> own_cell(const CellText& text);

// Returns whether own_cell made the cell.
bool is_own(Cell cell);

// Returns "lstm", or "own cell 1b2c3d4e" with the first digits of the program's hash.
std::string cell_name(Cell cell);

// Returns every cell of the list, in its order.
std::vector<Cell> all_cells();

// Returns the number of gates: 4 for LSTM (i, f, g, o), 3 for GRU (r, z, n), 1 for the plain cells.
int64_t num_gates(Cell cell);

// Returns the equations of the options' cell with these values of its options.
CellText text_of(const RecurrentOptions& options);

// Returns the program of the options' cell with these values of its options. It is made once and lives forever.
const CellProgram& program_of(const RecurrentOptions& options);

// Likewise for the usual values of its options.
const CellProgram& program_of(Cell cell);

// Returns the parameters of one direction of a layer that reads vectors of `num_inputs`, as in torch.nn for its cells:
// weight_ih (G * H, I) of the gates that read the input, weight_hh (G * H, H / heads) of those that read the hidden
// state, bias_ih and bias_hh (G * H), and then the learned vectors.
std::vector<ParameterSpec> cell_parameters(const RecurrentOptions& options, int64_t num_inputs);

// Returns whether the cell has a second state, the cell state of an LSTM.
bool has_cell_state(Cell cell);

// Returns the corresponding cell in libraries. Throws InvariantError if libraries do not have the cell.
LibraryCell library_cell(Cell cell);

// Returns every cell with its description: "lstm: long short-term memory; gru: ...".
std::string described_cells();

// An option with another value than its usual one.
struct UsedOption {
  RecurrentOption option;
  std::string_view key;         // "reset_gate"
  std::string_view noun = {};   // what the cells with the option have, "a reset gate"; "" for options of every cell
  std::string value = {};       // "before"
  std::string_view usual = {};  // "after", if it is one of an enumeration
};

// Returns the options that these settings use, in the order of the list.
std::vector<UsedOption> used_options(const RecurrentOptions& options);

// Returns options that each use one option of this cell: with each other value of an enumeration, or one number.
std::vector<RecurrentOptions> unusual_options(Cell cell);

// Returns whether values of the option are different equations of the cell.
bool changes_equations(Cell cell, RecurrentOption option);

// Returns the options with the usual values of all options but this one.
RecurrentOptions with_only(RecurrentOption option, const RecurrentOptions& options);

// Returns the cells that read the option, such as "lstm and gru".
std::string cells_with(RecurrentOption option);

// Returns each option that is used although the cell does not read it, and why the values of options that the cell
// reads do not fit together.
std::vector<Contradiction> contradictions(const RecurrentOptions& options);

}  // namespace rnnlab
