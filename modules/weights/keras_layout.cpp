#include "weights/keras_layout.h"

#include <ATen/TensorOperators.h>

#include <ATen/ops/stack.h>

#include "base/text.h"
#include "checkpoint/failure.h"
#include "weights/dense_layers.h"
#include "weights/function_facts.h"
#include "weights/keras_names.h"
#include "weights/row_blocks.h"
#include "weights/tensor_taker.h"

namespace rnnlab {
namespace {

// Of the gates; a GRU's are z r h. Each order is its own inverse.
std::vector<int64_t> keras_order(Cell cell) {
  if (cell == Cell::kLstm) return {0, 1, 2, 3};
  return cell == Cell::kGru ? std::vector<int64_t>{1, 0, 2} : std::vector<int64_t>{0};
}

std::string keras_kind(Cell cell) {
  if (cell == Cell::kLstm) return "lstm";
  return cell == Cell::kGru ? "gru" : "simple_rnn";
}

bool has_two_biases(const RecurrentOptions& options) {
  return options.cell == Cell::kGru && options.reset_gate == ResetGate::kAfter;
}

Cell cell_named(const std::string& name, const TensorFile& file) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    if (name == keras_kind(cell) + "_cell") return cell;
  refuse_checkpoint("{}: got a {}, expected lstm_cell, gru_cell or simple_rnn_cell", file.name, in_quotes(name));
}

void read_keras_sizes(const TensorTaker& taker, const KerasNames& names, NetworkWeights& network) {
  const std::string& first = names.recurrent.front()[0];
  settle_cell(network, cell_named(names.cell, taker.file()), taker.file());
  RecurrentOptions& options = network.options;
  options.input_size = taker.sizes_of(first + "/kernel", 2)[0];
  options.hidden_size = taker.sizes_of(first + "/recurrent_kernel", 2)[0];
  options.num_layers = std::ssize(names.recurrent);
  options.bidirectional = !names.recurrent.front()[1].empty();
  if (options.cell != Cell::kGru) return;
  const TensorView* bias = taker.file().find(first + "/bias");
  const bool is_flat = bias != nullptr && bias->spec.shape.size() == 1;
  settle_reset_gate(network, is_flat ? ResetGate::kBefore : ResetGate::kAfter, taker.file());
}

DirectionWeights take_keras_cell(TensorTaker& taker, const std::string& path, int64_t input_size,
                                 const RecurrentOptions& options) {
  const int64_t rows = num_gates(options.cell) * options.hidden_size;
  DirectionWeights weights;
  weights.weight_ih = taker.take(path + "/kernel", {input_size, rows}).t();
  weights.weight_hh = taker.take(path + "/recurrent_kernel", {options.hidden_size, rows}).t();
  if (has_two_biases(options)) {
    const at::Tensor biases = taker.take(path + "/bias", {2, rows});
    weights.bias_ih = biases[0];
    weights.bias_hh = biases[1];
  } else {
    weights.bias_ih = weights.bias_hh = half(taker.take(path + "/bias", {rows}));
  }
  return reordered(weights, keras_order(options.cell));
}

void add_keras_cell(std::vector<NamedTensor>& tensors, const std::string& path, const DirectionWeights& pytorch,
                    const RecurrentOptions& options) {
  const DirectionWeights weights = reordered(pytorch, keras_order(options.cell));
  tensors.push_back({path + "/kernel", weights.weight_ih.t().contiguous()});
  tensors.push_back({path + "/recurrent_kernel", weights.weight_hh.t().contiguous()});
  tensors.push_back({path + "/bias", has_two_biases(options) ? at::stack({weights.bias_ih, weights.bias_hh})
                                                             : weights.bias_ih + weights.bias_hh});
}

}  // namespace

NetworkWeights read_keras_layout(const TensorFile& file) {
  TensorTaker taker(file);
  const KerasNames names = keras_names(file);
  NetworkWeights network = start_network(file);
  read_keras_sizes(taker, names, network);
  int64_t input_size = network.options.input_size;
  for (const auto& cells : names.recurrent) {
    for (const std::string& path : cells)
      if (!path.empty()) network.recurrent.push_back(take_keras_cell(taker, path, input_size, network.options));
    input_size = network.options.hidden_size * network.options.num_directions();
  }
  if (!names.embedding.empty()) network.embedding = take_embedding(taker, names.embedding);
  for (const std::string& path : names.dense) network.dense.push_back(take_dense(taker, path));
  taker.require_all_taken();
  return network;
}

std::vector<NamedTensor> keras_layout(const NetworkWeights& network) {
  const RecurrentOptions& options = network.options;
  const std::string kind = keras_kind(options.cell);
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < network.recurrent.size(); ++i) {
    const auto num_directions = static_cast<size_t>(options.num_directions());
    const char* direction = i % num_directions == 0 ? "forward" : "backward";
    add_keras_cell(tensors, keras_cell_path(kind, i / num_directions, options.bidirectional ? direction : ""),
                   network.recurrent[i], options);
  }
  add_dense_layers(tensors, network);
  return tensors;
}

}  // namespace rnnlab
