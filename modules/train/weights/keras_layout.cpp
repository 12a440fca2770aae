// SPDX-License-Identifier: Apache-2.0
// The layout of Keras: the variable paths of Keras 3, with kernels of (inputs, gates). An LSTM's gates are in PyTorch's
// order and a GRU's gates in the order z r h. There is one bias, but a GRU with reset_after=True, which is Keras's
// default and the reset gate of cuDNN, has two. The names of Keras 2 are read, too.
#include "train/weights/keras_layout.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "results/checkpoint/safetensors.h"

namespace rnnlab {
namespace {

// The layers in a file of Keras's variables, by their paths: `sequential/lstm_1/lstm_cell/kernel`. The file does not
// store the order of layers, so layers of one kind are ordered by the number at the end of their names.
struct KerasNames {
  std::string cell;  // "lstm_cell", "gru_cell" or "simple_rnn_cell"
  std::vector<std::array<std::string, 2>>
      recurrent;                   // for each layer, the path of its cell, and the path of its backward cell or ""
  std::vector<std::string> dense;  // paths of layers
  std::string embedding;           // the path of the layer, or ""
};

constexpr std::string_view kRecurrentKernel = "/recurrent_kernel";
constexpr std::string_view kKernel = "/kernel";
constexpr std::string_view kEmbeddings = "/embeddings";
constexpr std::string_view kForwardMark = "forward_";
constexpr std::string_view kBackwardMark = "backward_";

// Splits "model/lstm_1" into {"model", "lstm_1"}, and "lstm_1" into {"", "lstm_1"}.
std::pair<std::string, std::string> parent_and_last(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

struct Numbered {
  std::string stem;  // with the path before it
  int64_t number = 0;
};

Numbered numbered(const std::string& layer) {
  const size_t underscore = layer.rfind('_');
  if (underscore == std::string::npos) return {layer, 0};
  const auto number = parse_int64(std::string_view(layer).substr(underscore + 1));
  return number ? Numbered{layer.substr(0, underscore), *number} : Numbered{layer, 0};
}

std::vector<std::string> in_order(std::vector<std::string> layers, const TensorFile& file) {
  std::ranges::sort(layers, {}, [](const std::string& layer) { return numbered(layer).number; });
  for (size_t i = 1; i < layers.size(); ++i) {
    const Numbered one = numbered(layers[i - 1]), other = numbered(layers[i]);
    if (one.stem != other.stem || one.number == other.number)
      throw_checkpoint_error(
          "{}: the names of the layers {} and {} do not show which is the first; give them one name with numbers, such "
          "as {} and {}",
          file.name, in_quotes(layers[i - 1]), in_quotes(layers[i]), one.stem, keras_layer_name(one.stem, 1));
  }
  return layers;
}

std::vector<std::string> paths_with(const TensorFile& file, std::string_view ending) {
  std::vector<std::string> paths;
  for (const TensorView& tensor : file.tensors) {
    const std::string& name = tensor.spec.name;
    if (name.ends_with(ending)) paths.push_back(name.substr(0, name.size() - ending.size()));
  }
  return paths;
}

struct CellPlace {
  std::string layer;
  std::string cell;
  size_t direction = 0;
};

CellPlace place_of(const std::string& path) {
  const auto [inside, cell] = parent_and_last(path);
  const auto [outer, inner] = parent_and_last(inside);
  if (inner.starts_with(kForwardMark)) return {outer, cell, 0};
  if (inner.starts_with(kBackwardMark)) return {outer, cell, 1};
  return {inside, cell, 0};
}

void find_recurrent(const TensorFile& file, const std::vector<std::string>& cells, KerasNames& names) {
  std::map<std::string, std::array<std::string, 2>> paths;  // by layer
  for (const std::string& path : cells) {
    const CellPlace place = place_of(path);
    if (names.cell.empty()) names.cell = place.cell;
    if (place.cell != names.cell)
      throw_checkpoint_error("{}: has layers of {} and of {}; all layers of a model must be of one kind", file.name,
                             in_quotes(names.cell), in_quotes(place.cell));
    std::string& slot = paths[place.layer][place.direction];
    if (!slot.empty())
      throw_checkpoint_error("{}: {} and {} are both the same direction of one layer", file.name, in_quotes(slot),
                             in_quotes(path));
    slot = path;
  }
  std::vector<std::string> layers;
  for (const auto& [layer, ignored] : paths) layers.push_back(layer);
  for (const std::string& layer : in_order(layers, file)) names.recurrent.push_back(paths[layer]);
}

void require_same_directions(const TensorFile& file, const KerasNames& names) {
  const bool is_bidirectional = !names.recurrent.front()[1].empty();
  for (const auto& [forward, backward] : names.recurrent)
    if (forward.empty() || backward.empty() == is_bidirectional)
      throw_checkpoint_error(
          "{}: some of its layers are bidirectional and some are not; all layers of a model must be alike", file.name);
}

constexpr std::string_view kKeras2Ending = ":0";

// Returns the cell's name in Keras 3 for a path of Keras 2: "lstm_3/lstm_cell" for "lstm_3/lstm_cell_3", whose cells
// are numbered like the layers, and for "lstm_3" of its first versions, which name no cell.
std::string path_of_keras3(const std::string& path) {
  const auto [inside, last] = parent_and_last(path);
  const std::string stem = numbered(last).stem;
  if (stem.ends_with("_cell")) return inside.empty() ? stem : fmt::format("{}/{}", inside, stem);
  std::string kind = stem;
  for (const std::string_view mark : {kForwardMark, kBackwardMark})
    if (kind.starts_with(mark)) kind = kind.substr(mark.size());
  return kind == "lstm" || kind == "gru" || kind == "simple_rnn" ? fmt::format("{}/{}_cell", path, kind) : path;
}

// Returns "lstm_3/lstm_cell/kernel" for "lstm_3/lstm_cell_3/kernel:0"; names of Keras 3 unchanged.
std::string name_of_keras3(const std::string& name) {
  if (!name.ends_with(kKeras2Ending)) return name;
  const auto [path, variable] = parent_and_last(name.substr(0, name.size() - kKeras2Ending.size()));
  return path.empty() ? variable : fmt::format("{}/{}", path_of_keras3(path), variable);
}

// Returns the file with the names of Keras 3. Two tensors of one name would hide each other.
TensorFile with_names_of_keras3(TensorFile file) {
  std::map<std::string, std::string> originals;
  for (TensorView& tensor : file.tensors) {
    const std::string name = name_of_keras3(tensor.spec.name);
    const auto [other, is_new] = originals.emplace(name, tensor.spec.name);
    if (!is_new)
      throw_checkpoint_error("{}: tensors {} and {} are both {}; leave one of them out", file.name,
                             in_quotes(other->second), in_quotes(tensor.spec.name), in_quotes(name));
    tensor.spec.name = name;
  }
  return file;
}

bool is_keras_layout(const TensorFile& file) {
  return !paths_with(file, kRecurrentKernel).empty() ||
         !paths_with(file, fmt::format("{}{}", kRecurrentKernel, kKeras2Ending)).empty();
}

// Throws UserError kCheckpoint if the names do not determine the order of layers, or if the layers are not a stack.
KerasNames keras_names(const TensorFile& file) {
  KerasNames names;
  const std::vector<std::string> cells = paths_with(file, kRecurrentKernel);
  find_recurrent(file, cells, names);
  require_same_directions(file, names);
  std::vector<std::string> dense = paths_with(file, kKernel);
  const std::set<std::string> is_cell(cells.begin(), cells.end());
  std::erase_if(dense, [&](const std::string& path) { return is_cell.contains(path); });
  names.dense = in_order(dense, file);
  if (const auto embeddings = paths_with(file, kEmbeddings); !embeddings.empty()) names.embedding = embeddings.front();
  return names;
}

// Returns the path of a cell: "lstm_1/lstm_cell", "bidirectional_1/backward_lstm_1/lstm_cell".
std::string keras_cell_path(const std::string& kind, size_t layer, const char* direction) {
  const std::string name = keras_layer_name(kind, layer);
  if (*direction == '\0') return fmt::format("{}/{}_cell", name, kind);
  return fmt::format("{}/{}_{}/{}_cell", keras_layer_name("bidirectional", layer), direction, name, kind);
}

}  // namespace

std::string keras_layer_name(const std::string& kind, size_t index) {
  return index == 0 ? kind : fmt::format("{}_{}", kind, index);
}

LinearWeights take_dense(TensorReader& reader, const std::string& path) {
  const auto sizes = reader.sizes_of(path + "/kernel", 2);
  return {reader.take(path + "/kernel", sizes).t().contiguous(), reader.take(path + "/bias", {sizes[1]})};
}

at::Tensor take_embedding(TensorReader& reader, const std::string& path) {
  return reader.take(path + "/embeddings", reader.sizes_of(path + "/embeddings", 2));
}

void add_dense_layers(std::vector<NamedTensor>& tensors, const NetworkWeights& network) {
  if (network.embedding.defined()) tensors.push_back({"embedding/embeddings", network.embedding.contiguous()});
  for (size_t i = 0; i < network.dense.size(); ++i) {
    const std::string path = keras_layer_name("dense", i);
    tensors.push_back({path + "/kernel", network.dense[i].weight.t().contiguous()});
    tensors.push_back({path + "/bias", network.dense[i].bias.contiguous()});
  }
}

std::string repeated_layer(int64_t count, const std::string& layer) {
  return count == 1 ? layer : fmt::format("{} x {}", count, layer);
}

namespace {

struct KerasCell {
  const char* class_name;
  std::string kind;                 // in the names of layers
  std::vector<int64_t> gate_order;  // its own inverse
};

const KerasCell& keras_cell(Cell cell) {
  static const KerasCell lstm = {"LSTM", "lstm", {0, 1, 2, 3}}, gru = {"GRU", "gru", {1, 0, 2}},  // z r h
      plain = {"SimpleRNN", "simple_rnn", {0}};
  switch (library_cell(cell)) {
    case LibraryCell::kLstm:
      return lstm;
    case LibraryCell::kGru:
      return gru;
    case LibraryCell::kRnnTanh:
    case LibraryCell::kRnnRelu:
      return plain;
  }
  fail_invariant("a listed cell", __FILE__, __LINE__, "keras_cell does not know the cell");
}

bool has_two_biases(const RecurrentOptions& options) {
  return options.cell == Cell::kGru && options.reset_gate == ResetGate::kAfter;
}

Cell cell_named(const std::string& name, const TensorFile& file) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    if (name == keras_cell(cell).kind + "_cell") return cell;
  throw_checkpoint_error("{}: got a {}, expected lstm_cell, gru_cell or simple_rnn_cell", file.name, in_quotes(name));
}

void read_keras_sizes(const TensorReader& reader, const KerasNames& names, NetworkWeights& network) {
  const std::string& first = names.recurrent.front()[0];
  set_cell(network, cell_named(names.cell, reader.file()), reader.file());
  RecurrentOptions& options = network.options;
  options.input_size = reader.sizes_of(first + "/kernel", 2)[0];
  options.hidden_size = reader.sizes_of(first + "/recurrent_kernel", 2)[0];
  options.num_layers = std::ssize(names.recurrent);
  options.bidirectional = !names.recurrent.front()[1].empty();
  if (options.cell != Cell::kGru) return;
  const TensorView* bias = reader.file().find(first + "/bias");
  const bool is_flat = bias != nullptr && bias->spec.shape.size() == 1;
  set_reset_gate(network, is_flat ? ResetGate::kBefore : ResetGate::kAfter, reader.file());
}

DirectionWeights take_keras_cell(TensorReader& reader, const std::string& path, int64_t input_size,
                                 const RecurrentOptions& options) {
  const int64_t rows = num_gates(options.cell) * options.hidden_size;
  DirectionWeights weights;
  weights.weight_ih = reader.take(path + "/kernel", {input_size, rows}).t();
  weights.weight_hh = reader.take(path + "/recurrent_kernel", {options.hidden_size, rows}).t();
  if (has_two_biases(options)) {
    const at::Tensor biases = reader.take(path + "/bias", {2, rows});
    weights.bias_ih = biases[0];
    weights.bias_hh = biases[1];
  } else {
    weights.bias_ih = weights.bias_hh = half(reader.take(path + "/bias", {rows}));
  }
  return reordered(weights, keras_cell(options.cell).gate_order);
}

void add_keras_cell(std::vector<NamedTensor>& tensors, const std::string& path, const DirectionWeights& pytorch,
                    const RecurrentOptions& options) {
  const DirectionWeights weights = reordered(pytorch, keras_cell(options.cell).gate_order);
  tensors.push_back({path + "/kernel", weights.weight_ih.t().contiguous()});
  tensors.push_back({path + "/recurrent_kernel", weights.weight_hh.t().contiguous()});
  tensors.push_back({path + "/bias", has_two_biases(options) ? at::stack({weights.bias_ih, weights.bias_hh})
                                                             : weights.bias_ih + weights.bias_hh});
}

NetworkWeights read_keras_layout(const TensorFile& original) {
  const TensorFile file = with_names_of_keras3(original);
  TensorReader reader(file);
  const KerasNames names = keras_names(file);
  NetworkWeights network = start_network(file);
  read_keras_sizes(reader, names, network);
  int64_t input_size = network.options.input_size;
  for (const auto& cells : names.recurrent) {
    for (const std::string& path : cells)
      if (!path.empty()) network.recurrent.push_back(take_keras_cell(reader, path, input_size, network.options));
    input_size = network.options.hidden_size * network.options.num_directions();
  }
  if (!names.embedding.empty()) network.embedding = take_embedding(reader, names.embedding);
  for (const std::string& path : names.dense) network.dense.push_back(take_dense(reader, path));
  reader.require_all_taken();
  return network;
}

std::vector<NamedTensor> keras_tensors(const NetworkWeights& network) {
  const RecurrentOptions& options = network.options;
  const std::string& kind = keras_cell(options.cell).kind;
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

std::string keras_text(const RecurrentOptions& options) {
  std::string text = fmt::format("keras.layers.{}({}", keras_cell(options.cell).class_name, options.hidden_size);
  if (options.cell == Cell::kRnnRelu || options.activation == Activation::kRelu) text += ", activation='relu'";
  if (options.cell == Cell::kGru && options.reset_gate == ResetGate::kBefore) text += ", reset_after=False";
  text += ")";
  if (options.bidirectional) text = fmt::format("keras.layers.Bidirectional({})", text);
  return repeated_layer(options.num_layers, text);
}

}  // namespace

const LayoutInfo& keras_layout() {
  static const LayoutInfo info = {
      .has_names = is_keras_layout, .read = read_keras_layout, .tensors = keras_tensors, .layer_text = keras_text};
  return info;
}

}  // namespace rnnlab
