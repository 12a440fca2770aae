// SPDX-License-Identifier: Apache-2.0
// PyTorch's layout: the names of torch.nn.LSTM, GRU and RNN, without prefix, or as `recurrent.*` next to the other
// modules of rnnlab's models.
#include <fmt/format.h>

#include "layers/parameters.h"
#include "results/checkpoint/safetensors.h"
#include "train/weights/network_weights.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

constexpr const char* kFirstWeight = "weight_ih_l0";

Cell cell_with(int64_t num_gates_in_file, const std::string& tensor, const TensorFile& file) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    if (num_gates(cell) == num_gates_in_file) return cell;
  throw_checkpoint_error("{}: tensor '{}' has {} rows for each column, expected 4 (lstm), 3 (gru) or 1 (a plain cell)",
                         file.name, tensor, num_gates_in_file);
}

void read_pytorch_sizes(const TensorReader& reader, const std::string& prefix, NetworkWeights& network) {
  const std::string weight_hh = prefix + "weight_hh_l0";
  const auto recurrent = reader.sizes_of(weight_hh, 2);
  set_cell(network, cell_with(recurrent[0] / recurrent[1], weight_hh, reader.file()), reader.file());
  RecurrentOptions& options = network.options;
  options.input_size = reader.sizes_of(prefix + kFirstWeight, 2)[1];
  options.hidden_size = recurrent[1];
  options.bidirectional = reader.has(prefix + kFirstWeight + "_reverse");
  while (reader.has(fmt::format("{}weight_ih_l{}", prefix, options.num_layers))) ++options.num_layers;
}

std::string category_name(int64_t index) { return fmt::format("{}{}.weight", kCategoryPrefix, index); }

LinearWeights take_linear(TensorReader& reader, const std::string& module) {
  const auto sizes = reader.sizes_of(module + ".weight", 2);
  return {reader.take(module + ".weight", sizes), reader.take(module + ".bias", {sizes[0]})};
}

void take_other_layers(TensorReader& reader, NetworkWeights& network) {
  if (reader.has("embedding.weight"))
    network.embedding = reader.take("embedding.weight", reader.sizes_of("embedding.weight", 2));
  for (int64_t i = 0; reader.has(category_name(i)); ++i)
    network.categories.push_back(reader.take(category_name(i), reader.sizes_of(category_name(i), 2)));
  for (int64_t i = 0; reader.has(fmt::format("dense{}.weight", i)); ++i)
    network.dense.push_back(take_linear(reader, fmt::format("dense{}", i)));
  if (!network.dense.empty() || reader.has("output.weight")) network.dense.push_back(take_linear(reader, "output"));
}

void add_linear(std::vector<NamedTensor>& tensors, const std::string& module, const LinearWeights& linear) {
  tensors.push_back({module + ".weight", linear.weight.contiguous()});
  tensors.push_back({module + ".bias", linear.bias.contiguous()});
}

bool is_pytorch_layout(const TensorFile& file) {
  return file.find(kFirstWeight) != nullptr || file.find(std::string(kRecurrentPrefix) + kFirstWeight) != nullptr;
}

// NetworkWeights has no place for these modules of sequence models, because no library's layers have one.
void refuse_own_parts(const TensorFile& file) {
  for (const std::string_view module : {"front", "attention", "decoder"})
    for (const TensorView& tensor : file.tensors)
      if (tensor.spec.name.starts_with(std::string(module) + "."))
        throw_error(
            ExitCode::kUsage,
            "{}: the model's {} ({}) has no counterpart in other libraries, so only its recurrent layers can be "
            "converted: use --part recurrent",
            file.name, module, tensor.spec.name);
}

NetworkWeights read_pytorch_layout(const TensorFile& file) {
  refuse_own_parts(file);
  TensorReader reader(file);
  const bool is_bare = reader.has(kFirstWeight);
  const std::string prefix = is_bare ? "" : kRecurrentPrefix;
  NetworkWeights network = start_network(file);
  read_pytorch_sizes(reader, prefix, network);
  std::vector<at::Tensor> weights;
  for (const ParameterSpec& spec : parameter_specs(network.options))
    weights.push_back(reader.take(prefix + spec.name, spec.shape));
  for (size_t i = 0; i < weights.size(); i += kParametersPerDirection)
    network.recurrent.push_back({weights[i], weights[i + 1], weights[i + 2], weights[i + 3]});
  if (!is_bare) take_other_layers(reader, network);
  reader.require_all_taken();
  return network;
}

std::vector<NamedTensor> pytorch_tensors(const NetworkWeights& network) {
  const bool is_bare = network.dense.empty() && !network.embedding.defined();
  const std::string prefix = is_bare ? "" : kRecurrentPrefix;
  std::vector<NamedTensor> tensors;
  const std::vector<ParameterSpec> specs = parameter_specs(network.options);
  for (const DirectionWeights& weights : network.recurrent)
    for (const at::Tensor* part : {&weights.weight_ih, &weights.weight_hh, &weights.bias_ih, &weights.bias_hh})
      if (part->defined()) tensors.push_back({prefix + specs.at(tensors.size()).name, part->contiguous()});
  if (network.embedding.defined()) tensors.push_back({"embedding.weight", network.embedding.contiguous()});
  for (const at::Tensor& vectors : network.categories)
    tensors.push_back({category_name(std::ssize(tensors) - std::ssize(specs)), vectors.contiguous()});
  for (size_t i = 0; i < network.dense.size(); ++i)
    add_linear(tensors, i + 1 < network.dense.size() ? fmt::format("dense{}", i) : "output", network.dense[i]);
  return tensors;
}

const char* pytorch_module(Cell cell) {
  switch (library_cell(cell)) {
    case LibraryCell::kLstm:
      return "LSTM";
    case LibraryCell::kGru:
      return "GRU";
    case LibraryCell::kRnnTanh:
    case LibraryCell::kRnnRelu:
      return "RNN";
  }
  fail_invariant("a listed cell", __FILE__, __LINE__, "pytorch_module does not know the cell");
}

std::string pytorch_text(const RecurrentOptions& options) {
  std::string text =
      fmt::format("torch.nn.{}({}, {}", pytorch_module(options.cell), options.input_size, options.hidden_size);
  if (options.num_layers > 1) text += fmt::format(", num_layers={}", options.num_layers);
  if (options.bidirectional) text += ", bidirectional=True";
  if (options.cell == Cell::kRnnRelu) text += ", nonlinearity='relu'";
  return text + ")";
}

std::vector<std::string> pytorch_notes(const RecurrentOptions& options) {
  std::vector<std::string> notes;
  if (options.reset_gate == ResetGate::kBefore)
    notes.emplace_back(
        "model.reset_gate is before: torch.nn.GRU applies the reset gate after the product and computes a different "
        "function");
  if (options.activation == Activation::kRelu)
    notes.emplace_back("model.activation is relu: torch.nn's cells have tanh and compute a different function");
  return notes;
}

}  // namespace

const LayoutInfo& pytorch_layout() {
  static const LayoutInfo info = {.has_own_cells = true,
                                  .own_metadata = {{"format", "pt"}},
                                  .has_names = is_pytorch_layout,
                                  .read = read_pytorch_layout,
                                  .tensors = pytorch_tensors,
                                  .layer_text = pytorch_text,
                                  .notes = pytorch_notes};
  return info;
}

}  // namespace rnnlab
