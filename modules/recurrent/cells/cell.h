// What a recurrent cell is, as one record: states, parameters, the options that it reads, and its equations for
// `naive`. A cell is a file of this folder with its record and a line in cell_list.inc. The record does not say which
// layers compute the cell: each layer lists the cells that it has (layer_kind.cpp). Plain values without LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recurrent/recurrent_options.h"

namespace at {
class Tensor;
}

namespace rnnlab {

class CellEquations;  // cells/equations.h

// The cells that PyTorch, cuDNN, oneDNN and Keras have. Code that is made for these cells alone switches over this enum
// without a default, so that it never takes one cell for another.
enum class LibraryCell { kLstm, kGru, kRnnTanh, kRnnRelu };

// A key of the model that changes the equations of some cells and means nothing with the others.
enum class CellOption { kResetGate, kActivation, kCandidate, kHeads };

// The name is "weight_ih" in a cell's record, and "weight_ih_l0_reverse" in a layer (parameters.h).
struct ParameterSpec {
  std::string name;
  std::vector<int64_t> shape;
};

// H hidden units, G gates.
struct CellInfo {
  std::string_view description;             // in a few words, for people
  int64_t num_gates = 1;                    // G: weight_ih has G * H rows
  std::vector<std::string_view> states;     // "hidden", which is the output too, then those that the cell alone reads
  std::vector<CellOption> options = {};     // the keys that it reads
  std::optional<LibraryCell> library = {};  // the same cell in libraries, if they have it

  // The parameters of one direction of a layer that reads vectors of `num_inputs`.
  std::vector<ParameterSpec> (*parameters)(const RecurrentOptions& options, int64_t num_inputs) = nullptr;

  // The equations with these weights, which are in the order of `parameters`.
  std::unique_ptr<CellEquations> (*equations)(const RecurrentOptions& options,
                                              std::span<const at::Tensor> weights) = nullptr;

  // Why the values of options that the cell reads do not fit together, or "". Null if any values do.
  std::string (*fault)(const RecurrentOptions& options) = nullptr;
};

const CellInfo& info_of(Cell cell);

// Rows of weight_ih in units of hidden_size: 4 for LSTM (i, f, g, o), 3 for GRU (r, z, n), 1 for the plain cells.
int64_t num_gates(Cell cell);

// Whether the cell has a state besides the hidden one, such as the cell state of an LSTM.
bool has_cell_state(Cell cell);

// The same cell in libraries. InvariantError if libraries do not have it.
LibraryCell library_cell(Cell cell);

// Parameters as torch.nn has them: weight_ih (G * H, I), weight_hh (G * H, H), bias_ih and bias_hh (G * H).
std::vector<ParameterSpec> library_parameters(const RecurrentOptions& options, int64_t num_inputs);

// Parameters of gates that read the input alone: weight_ih (G * H, I) and bias_ih (G * H).
std::vector<ParameterSpec> input_parameters(const RecurrentOptions& options, int64_t num_inputs);

// "lstm: long short-term memory; gru: ...": every cell with its description.
std::string described_cells();

// "lstm and gru": the cells that read the option.
std::string cells_with(CellOption option);

// An option that is set although the cell does not read it.
struct UnreadOption {
  std::string key;      // "reset_gate"
  std::string value;    // "before"
  std::string message;  // "only gru has a reset gate"
};
std::vector<UnreadOption> unread_options(const RecurrentOptions& options);

// Why the values of options that the cell reads do not fit together, or "".
std::string cell_fault(const RecurrentOptions& options);

}  // namespace rnnlab
