// SPDX-License-Identifier: Apache-2.0
// The layout of the PyPI package xlstm: one sLSTM cell, alone or in its layer (slstm_cell._recurrent_kernel_,
// igate.weight ...). rnnlab only reads it. The package keeps the recurrent weights and the bias in the order of its
// backend, and the shapes of the recurrent weights show which:
//   "vanilla"         (heads, 4 * D, D) with (outputs, inputs) of a head, bias (4 * H) by gates, then heads
//   "cuda"            (heads, D, 4 * D) with (inputs, outputs) of a head, bias (4 * H) by heads, then gates
//   recurrent_kernel  (heads, D, 4, D), bias (heads, 4, D): the proxies that hide the backend, in the order of "cuda"
// The gates i f z o are in rnnlab's order. The layer's gates have a block for each head; a layer gives the input gate
// the outputs of its module `fgate`, and the forget gate those of `igate`. A cell alone adds its inputs to the gates.
// Source: xlstm 2.0.6, xlstm/blocks/slstm/cell.py, layer.py and components/linear_headwise.py.
#include <ATen/TensorOperators.h>
#include <ATen/ops/block_diag.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>

#include <array>

#include "base/text.h"
#include "results/checkpoint/safetensors.h"
#include "train/weights/network_weights.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

constexpr std::string_view kCellKernel = "_recurrent_kernel_";
constexpr std::string_view kCellInLayer = "slstm_cell.";
constexpr const char* kFunctionKey = "xlstm.function";
constexpr int64_t kNumGates = 4;
constexpr int64_t kMaxInputWeights = int64_t{1} << 28;  // 1 GiB: a small file can describe a huge matrix of zeros

// The modules of the layer whose outputs go to the gates i f z o.
constexpr std::array<const char*, kNumGates> kGateModules = {"fgate", "igate", "zgate", "ogate"};

// A part of a name and what the tensor computes, which the cell slstm does not.
struct UnsupportedPart {
  std::string_view name;
  std::string_view what_to_do;
};

constexpr UnsupportedPart kUnsupportedParts[] = {
    {"conv1d.",
     "is a convolution before the input and forget gates, which cell: slstm does not have; train with "
     "conv1d_kernel_size=0, or save slstm_cell.state_dict() alone"},
    {"group_norm.",
     "normalizes the layer's outputs, which cell: slstm does not do; leave it out of the file to load the layer "
     "without its norm"},
    {"xlstm_norm.", "belongs to the block around the layer; save the state_dict() of the block's xlstm alone"},
    {"ffn", "belongs to the block around the layer; save the state_dict() of the block's xlstm alone"}};

// The prefixes of the names, each with its dot or "".
struct XlstmNames {
  std::string cell;
  std::string layer;
  bool has_gates = false;
};

std::vector<std::string> cell_prefixes(const TensorFile& file) {
  std::vector<std::string> prefixes;
  for (const TensorView& tensor : file.tensors) {
    const std::string& name = tensor.spec.name;
    if (name.ends_with(kCellKernel)) prefixes.push_back(name.substr(0, name.size() - kCellKernel.size()));
  }
  return prefixes;
}

bool is_xlstm_layout(const TensorFile& file) { return !cell_prefixes(file).empty(); }

void refuse_other_parts(const TensorFile& file) {
  for (const TensorView& tensor : file.tensors)
    for (const UnsupportedPart& part : kUnsupportedParts)
      if (tensor.spec.name.find(part.name) != std::string::npos)
        throw_checkpoint_error("{}: tensor {} {}", file.name, in_quotes(tensor.spec.name, 200), part.what_to_do);
}

void refuse_other_function(const TensorFile& file) {
  const auto found = file.metadata.find(kFunctionKey);
  if (found == file.metadata.end() || found->second == "slstm") return;
  throw_checkpoint_error("{}: metadata {}: got {}, expected slstm; rnnlab has no other function of xlstm's cell",
                         file.name, kFunctionKey, in_quotes(found->second));
}

XlstmNames xlstm_names(const TensorReader& reader) {
  const TensorFile& file = reader.file();
  const std::vector<std::string> cells = cell_prefixes(file);
  if (cells.size() > 1)
    throw_checkpoint_error(
        "{}: has {} cells, such as {} and {}, and a model of xlstm computes more between them; save one cell's or "
        "layer's state_dict() alone",
        file.name, cells.size(), in_quotes(cells[0], 200), in_quotes(cells[1], 200));
  refuse_other_parts(file);
  refuse_other_function(file);
  XlstmNames names{.cell = cells.front(), .layer = cells.front()};
  if (!names.cell.ends_with(kCellInLayer)) return names;
  names.layer.resize(names.cell.size() - kCellInLayer.size());
  for (const char* gate : kGateModules) names.has_gates |= reader.has_under(names.layer + gate + ".");
  return names;
}

// Weights of a head h, gate g and units: kernel (heads, 4, outputs, inputs), bias (heads, 4, outputs).
struct CellTensors {
  at::Tensor kernel, bias;
};

[[noreturn]] void refuse_shape(const TensorReader& reader, const std::string& name, const TensorSpec& spec) {
  throw_checkpoint_error(
      "{}: tensor {} has shape {}, expected [heads, 4 * D, D], [heads, D, 4 * D] or [heads, D, 4, D] for heads of D "
      "units and 4 gates",
      reader.file().name, in_quotes(name, 200), shape_text(spec));
}

CellTensors take_vanilla(TensorReader& reader, const std::string& cell, int64_t heads, int64_t size) {
  const at::Tensor kernel = reader.take(cell + std::string(kCellKernel), {heads, kNumGates * size, size});
  const at::Tensor bias = reader.take(cell + "_bias_", {kNumGates * heads * size});
  return {kernel.reshape({heads, kNumGates, size, size}), bias.reshape({kNumGates, heads, size}).transpose(0, 1)};
}

CellTensors take_cuda(TensorReader& reader, const std::string& cell, int64_t heads, int64_t size, bool is_flat) {
  using Shape = std::vector<int64_t>;
  const at::Tensor kernel = reader.take(cell + std::string(kCellKernel), is_flat ? Shape{heads, size, kNumGates * size}
                                                                                 : Shape{heads, size, kNumGates, size});
  const at::Tensor bias =
      reader.take(cell + "_bias_", is_flat ? Shape{heads * kNumGates * size} : Shape{heads, kNumGates, size});
  return {kernel.reshape({heads, size, kNumGates, size}).permute({0, 2, 3, 1}), bias.reshape({heads, kNumGates, size})};
}

CellTensors take_cell(TensorReader& reader, const std::string& cell) {
  const std::string name = cell + std::string(kCellKernel);
  const TensorSpec& spec = reader.file().find(name)->spec;
  const std::vector<int64_t>& shape = spec.shape;
  if (shape.size() != 3 && shape.size() != 4) refuse_shape(reader, name, spec);
  const std::vector<int64_t> sizes = reader.sizes_of(name, shape.size());
  const int64_t heads = sizes[0], size = sizes.back();
  if (sizes.size() == 4 && sizes[1] == size && sizes[2] == kNumGates)
    return take_cuda(reader, cell, heads, size, false);
  if (sizes.size() == 3 && sizes[1] == kNumGates * size) return take_vanilla(reader, cell, heads, size);
  if (sizes.size() == 3 && size == kNumGates * sizes[1]) return take_cuda(reader, cell, heads, sizes[1], true);
  refuse_shape(reader, name, spec);
}

void require_moderate_size(const TensorReader& reader, int64_t rows, int64_t columns) {
  if (rows <= kMaxInputWeights / columns) return;
  throw_checkpoint_error(
      "{}: as a full matrix the input weights would have {} rows and {} columns, more than {} values; use fewer units",
      reader.file().name, rows, columns, kMaxInputWeights);
}

at::Tensor take_gates(TensorReader& reader, const XlstmNames& names, int64_t heads, int64_t size) {
  std::vector<at::Tensor> gates;
  for (const char* gate : kGateModules)
    gates.push_back(at::block_diag(reader.take(names.layer + gate + ".weight", {heads, size, size}).unbind(0)));
  return at::cat(gates);
}

NetworkWeights read_xlstm_layout(const TensorFile& file) {
  TensorReader reader(file);
  const XlstmNames names = xlstm_names(reader);
  const CellTensors cell = take_cell(reader, names.cell);
  const int64_t heads = cell.kernel.size(0), size = cell.kernel.size(2), hidden_size = heads * size;
  const int64_t rows = kNumGates * hidden_size;
  require_moderate_size(reader, rows, names.has_gates ? hidden_size : rows);
  const at::Tensor weight_ih = names.has_gates ? take_gates(reader, names, heads, size) : at::eye(rows);
  reader.require_all_taken();
  NetworkWeights network = start_network(file);
  set_cell(network, Cell::kSlstm, file);
  network.metadata.heads = heads;
  network.options.heads = heads;
  network.options.hidden_size = hidden_size;
  network.options.input_size = weight_ih.size(1);
  network.recurrent.push_back(
      {weight_ih, cell.kernel.transpose(0, 1).reshape({rows, size}), cell.bias.transpose(0, 1).reshape({rows}), {}});
  return network;
}

}  // namespace

const LayoutInfo& xlstm_layout() {
  static const LayoutInfo info = {.has_names = is_xlstm_layout, .read = read_xlstm_layout};
  return info;
}

}  // namespace rnnlab
