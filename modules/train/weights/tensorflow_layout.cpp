// SPDX-License-Identifier: Apache-2.0
// TensorFlow's canonical layout: the form in which the cuDNN layers of TensorFlow 1 (tf.contrib.cudnn_rnn) were saved,
// for cells that run on every device. Each cell has one kernel (inputs + hidden, gates). An LSTM's gates are in the
// order i c f o. A GRU's gates r u are separate from its candidate. Biases are summed when written and halved when
// read.
// Source: tensorflow 1, contrib/cudnn_rnn/python/ops/cudnn_rnn_ops.py, the Saveable classes; GRUCell for the other
// reset gate.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "results/checkpoint/safetensors.h"
#include "train/weights/keras_layout.h"
#include "train/weights/network_weights.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

constexpr std::string_view kOneDirection = "rnn/multi_rnn_cell/cell_";
constexpr std::string_view kBothDirections = "stack_bidirectional_rnn/cell_";

struct CellName {
  const char* name;
  Cell cell;
  ResetGate reset_gate;
};

constexpr CellName kCellNames[] = {{"cudnn_compatible_lstm_cell", Cell::kLstm, ResetGate::kAfter},
                                   {"cudnn_compatible_gru_cell", Cell::kGru, ResetGate::kAfter},
                                   {"gru_cell", Cell::kGru, ResetGate::kBefore},
                                   {"basic_rnn_cell", Cell::kRnnTanh, ResetGate::kAfter}};

// Returns the path before the cell's name.
std::string cell_prefix(int64_t layer, int64_t direction, bool is_bidirectional) {
  if (!is_bidirectional) return fmt::format("{}{}/", kOneDirection, layer);
  return fmt::format("{}{}/bidirectional_rnn/{}/", kBothDirections, layer, direction == 0 ? "fw" : "bw");
}

const char* tensorflow_cell(const RecurrentOptions& options) {
  for (const CellName& one : kCellNames)
    if (num_gates(one.cell) == num_gates(options.cell) &&
        (options.cell != Cell::kGru || one.reset_gate == options.reset_gate))
      return one.name;
  return "";
}

// Returns the cell of the file's first layer.
const CellName& find_cell(const TensorReader& reader, const std::string& prefix) {
  for (const CellName& one : kCellNames)
    if (reader.has_under(prefix + one.name + "/")) return one;
  for (const char* other : {"lstm_cell", "basic_lstm_cell"})
    if (reader.has_under(prefix + other + "/"))
      throw_checkpoint_error(
          "{}: has weights of a {}, to whose forget gate TensorFlow adds forget_bias, 1.0 by default: add "
          "it to the third quarter of each bias, and call the cells cudnn_compatible_lstm_cell",
          reader.file().name, other);
  std::vector<std::string> known;
  for (const CellName& one : kCellNames) known.emplace_back(one.name);
  throw_checkpoint_error("{}: no known cell follows {}, expected {}", reader.file().name, in_quotes(prefix),
                         join_with_or(known));
}

std::string kernel_of(const CellName& cell) { return cell.cell == Cell::kGru ? "/gates/kernel" : "/kernel"; }

void read_tensorflow_sizes(const TensorReader& reader, NetworkWeights& network) {
  RecurrentOptions& options = network.options;
  options.bidirectional = reader.has_under(kBothDirections);
  const std::string prefix = cell_prefix(0, 0, options.bidirectional);
  const CellName& cell = find_cell(reader, prefix);
  set_cell(network, cell.cell, reader.file());
  if (cell.cell == Cell::kGru) set_reset_gate(network, cell.reset_gate, reader.file());
  const std::string kernel = prefix + cell.name + kernel_of(cell);
  const auto sizes = reader.sizes_of(kernel, 2);
  const int64_t num_blocks = cell.cell == Cell::kGru ? 2 : num_gates(cell.cell);
  options.hidden_size = sizes[1] / num_blocks;
  options.input_size = sizes[0] - options.hidden_size;
  if (sizes[1] % num_blocks != 0 || options.hidden_size < 1 || options.input_size < 1)
    throw_checkpoint_error("{}: tensor {} has shape [{}, {}], expected [inputs + H, {} * H]", reader.file().name,
                           in_quotes(kernel, 200), sizes[0], sizes[1], num_blocks);
  while (reader.has_under(cell_prefix(options.num_layers, 0, options.bidirectional))) ++options.num_layers;
}

std::vector<int64_t> tensorflow_order(Cell cell) {
  switch (library_cell(cell)) {
    case LibraryCell::kLstm:
      return {0, 2, 1, 3};  // i c f o: its own inverse
    case LibraryCell::kRnnTanh:
    case LibraryCell::kRnnRelu:
      return {0};
    case LibraryCell::kGru:
      break;
  }
  fail_invariant("a cell with one kernel", __FILE__, __LINE__, "a GRU's candidate has a kernel of its own");
}

// Reads one kernel over inputs and hidden state, with one bias.
DirectionWeights take_joint(TensorReader& reader, const std::string& path, const RecurrentOptions& sizes,
                            int64_t rows) {
  const int64_t columns = sizes.input_size + sizes.hidden_size;
  const at::Tensor kernel = reader.take(path + "/kernel", {columns, rows}).t();
  const at::Tensor bias = half(reader.take(path + "/bias", {rows}));
  return {kernel.narrow(1, 0, sizes.input_size), kernel.narrow(1, sizes.input_size, sizes.hidden_size), bias, bias};
}

DirectionWeights take_apart(TensorReader& reader, const std::string& path, const RecurrentOptions& sizes) {
  const int64_t rows = sizes.hidden_size;
  return {reader.take(path + "/input_projection/kernel", {sizes.input_size, rows}).t(),
          reader.take(path + "/hidden_projection/kernel", {rows, rows}).t(),
          reader.take(path + "/input_projection/bias", {rows}), reader.take(path + "/hidden_projection/bias", {rows})};
}

// `sizes.input_size` is the input size of this cell's layer.
DirectionWeights take_tensorflow_cell(TensorReader& reader, const std::string& path, const RecurrentOptions& sizes) {
  const int64_t hidden = sizes.hidden_size;
  if (sizes.cell != Cell::kGru)
    return reordered(take_joint(reader, path, sizes, num_gates(sizes.cell) * hidden), tensorflow_order(sizes.cell));
  const DirectionWeights gates = take_joint(reader, path + "/gates", sizes, 2 * hidden);
  const std::string candidate = path + "/candidate";
  return stacked(gates, sizes.reset_gate == ResetGate::kAfter ? take_apart(reader, candidate, sizes)
                                                              : take_joint(reader, candidate, sizes, hidden));
}

void add_joint(std::vector<NamedTensor>& tensors, const std::string& path, const DirectionWeights& weights) {
  tensors.push_back({path + "/kernel", at::cat({weights.weight_ih, weights.weight_hh}, 1).t().contiguous()});
  tensors.push_back({path + "/bias", weights.bias_ih + weights.bias_hh});
}

void add_apart(std::vector<NamedTensor>& tensors, const std::string& path, const DirectionWeights& weights) {
  tensors.push_back({path + "/input_projection/kernel", weights.weight_ih.t().contiguous()});
  tensors.push_back({path + "/hidden_projection/kernel", weights.weight_hh.t().contiguous()});
  tensors.push_back({path + "/input_projection/bias", weights.bias_ih.contiguous()});
  tensors.push_back({path + "/hidden_projection/bias", weights.bias_hh.contiguous()});
}

void add_tensorflow_cell(std::vector<NamedTensor>& tensors, const std::string& path, const DirectionWeights& weights,
                         const RecurrentOptions& options) {
  if (options.cell != Cell::kGru) return add_joint(tensors, path, reordered(weights, tensorflow_order(options.cell)));
  add_joint(tensors, path + "/gates", rows_of(weights, 0, 2 * options.hidden_size));
  const DirectionWeights candidate = rows_of(weights, 2 * options.hidden_size, options.hidden_size);
  const auto add = options.reset_gate == ResetGate::kAfter ? add_apart : add_joint;
  add(tensors, path + "/candidate", candidate);
}

// The paths of the dense layers are "dense", "dense_1" ...
void take_tensorflow_dense(TensorReader& reader, NetworkWeights& network) {
  if (reader.has("embedding/embeddings")) network.embedding = take_embedding(reader, "embedding");
  for (size_t i = 0; reader.has(keras_layer_name("dense", i) + "/kernel"); ++i)
    network.dense.push_back(take_dense(reader, keras_layer_name("dense", i)));
}

bool is_tensorflow_layout(const TensorFile& file) {
  return std::ranges::any_of(file.tensors, [](const TensorView& view) {
    return view.spec.name.starts_with(kOneDirection) || view.spec.name.starts_with(kBothDirections);
  });
}

NetworkWeights read_tensorflow_layout(const TensorFile& file) {
  TensorReader reader(file);
  NetworkWeights network = start_network(file);
  read_tensorflow_sizes(reader, network);
  RecurrentOptions sizes = network.options;
  for (int64_t layer = 0; layer < sizes.num_layers; ++layer) {
    for (int64_t direction = 0; direction < sizes.num_directions(); ++direction) {
      const std::string path = cell_prefix(layer, direction, sizes.bidirectional) + tensorflow_cell(sizes);
      network.recurrent.push_back(take_tensorflow_cell(reader, path, sizes));
    }
    sizes.input_size = sizes.hidden_size * sizes.num_directions();
  }
  take_tensorflow_dense(reader, network);
  reader.require_all_taken();
  return network;
}

// Throws UserError kUsage if the cells have a different activation than TensorFlow's cells.
std::vector<NamedTensor> tensorflow_tensors(const NetworkWeights& network) {
  const RecurrentOptions& options = network.options;
  if (options.activation != Activation::kTanh)
    throw_error(ExitCode::kUsage,
                "model.activation: got {}, but the cells of TensorFlow's layout have tanh and would compute a "
                "different function; use --layout keras, or pytorch",
                config::name_of(options.activation));
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < network.recurrent.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const std::string prefix =
        cell_prefix(index / options.num_directions(), index % options.num_directions(), options.bidirectional);
    add_tensorflow_cell(tensors, prefix + tensorflow_cell(options), network.recurrent[i], options);
  }
  add_dense_layers(tensors, network);
  return tensors;
}

std::string tensorflow_cell_text(const RecurrentOptions& options) {
  const int64_t size = options.hidden_size;
  switch (library_cell(options.cell)) {
    case LibraryCell::kLstm:
      return fmt::format("CudnnCompatibleLSTMCell({0}) or LSTMCell({0}, forget_bias=0)", size);
    case LibraryCell::kGru:
      return fmt::format("{}({})", options.reset_gate == ResetGate::kAfter ? "CudnnCompatibleGRUCell" : "GRUCell",
                         size);
    case LibraryCell::kRnnTanh:
      return fmt::format("BasicRNNCell({})", size);
    case LibraryCell::kRnnRelu:
      return fmt::format("BasicRNNCell({}, activation=tf.nn.relu)", size);
  }
  fail_invariant("a listed cell", __FILE__, __LINE__, "tensorflow_text does not know the cell");
}

std::string tensorflow_text(const RecurrentOptions& options) {
  return repeated_layer(options.num_layers, tensorflow_cell_text(options)) +
         (options.bidirectional ? ", bidirectional" : "");
}

}  // namespace

const LayoutInfo& tensorflow_layout() {
  static const LayoutInfo info = {.has_names = is_tensorflow_layout,
                                  .read = read_tensorflow_layout,
                                  .tensors = tensorflow_tensors,
                                  .layer_text = tensorflow_text};
  return info;
}

}  // namespace rnnlab
