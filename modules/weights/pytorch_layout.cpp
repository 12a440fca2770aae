#include "weights/pytorch_layout.h"

#include <fmt/format.h>

#include "checkpoint/failure.h"
#include "recurrent/parameters.h"
#include "weights/function_facts.h"
#include "weights/tensor_reader.h"

namespace rnnlab {
namespace {

constexpr const char* kFirstWeight = "weight_ih_l0";

Cell cell_with(int64_t num_gates_in_file, const std::string& tensor, const TensorFile& file) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    if (num_gates(cell) == num_gates_in_file) return cell;
  refuse_checkpoint("{}: tensor '{}' has {} rows for each column, expected 4 (lstm), 3 (gru) or 1 (a plain cell)",
                    file.name, tensor, num_gates_in_file);
}

void read_pytorch_sizes(const TensorReader& taker, const std::string& prefix, NetworkWeights& network) {
  const std::string weight_hh = prefix + "weight_hh_l0";
  const auto recurrent = taker.sizes_of(weight_hh, 2);
  settle_cell(network, cell_with(recurrent[0] / recurrent[1], weight_hh, taker.file()), taker.file());
  RecurrentOptions& options = network.options;
  options.input_size = taker.sizes_of(prefix + kFirstWeight, 2)[1];
  options.hidden_size = recurrent[1];
  options.bidirectional = taker.has(prefix + kFirstWeight + "_reverse");
  while (taker.has(fmt::format("{}weight_ih_l{}", prefix, options.num_layers))) ++options.num_layers;
}

LinearWeights take_linear(TensorReader& taker, const std::string& module) {
  const auto sizes = taker.sizes_of(module + ".weight", 2);
  return {taker.take(module + ".weight", sizes), taker.take(module + ".bias", {sizes[0]})};
}

void take_others(TensorReader& taker, NetworkWeights& network) {
  if (taker.has("embedding.weight"))
    network.embedding = taker.take("embedding.weight", taker.sizes_of("embedding.weight", 2));
  for (int64_t i = 0; taker.has(fmt::format("dense{}.weight", i)); ++i)
    network.dense.push_back(take_linear(taker, fmt::format("dense{}", i)));
  if (!network.dense.empty() || taker.has("output.weight")) network.dense.push_back(take_linear(taker, "output"));
}

void add_linear(std::vector<NamedTensor>& tensors, const std::string& module, const LinearWeights& linear) {
  tensors.push_back({module + ".weight", linear.weight.contiguous()});
  tensors.push_back({module + ".bias", linear.bias.contiguous()});
}

}  // namespace

bool is_pytorch_layout(const TensorFile& file) {
  return file.find(kFirstWeight) != nullptr || file.find(std::string(kRecurrentPrefix) + kFirstWeight) != nullptr;
}

NetworkWeights read_pytorch_layout(const TensorFile& file) {
  TensorReader taker(file);
  const bool is_bare = taker.has(kFirstWeight);
  const std::string prefix = is_bare ? "" : kRecurrentPrefix;
  NetworkWeights network = start_network(file);
  read_pytorch_sizes(taker, prefix, network);
  std::vector<at::Tensor> weights;
  for (const ParameterSpec& spec : parameter_specs(network.options))
    weights.push_back(taker.take(prefix + spec.name, spec.shape));
  for (size_t i = 0; i < weights.size(); i += kParametersPerDirection)
    network.recurrent.push_back({weights[i], weights[i + 1], weights[i + 2], weights[i + 3]});
  if (!is_bare) take_others(taker, network);
  taker.require_all_taken();
  return network;
}

std::vector<NamedTensor> pytorch_layout(const NetworkWeights& network) {
  const bool is_bare = network.dense.empty() && !network.embedding.defined();
  const std::string prefix = is_bare ? "" : kRecurrentPrefix;
  std::vector<NamedTensor> tensors;
  const std::vector<ParameterSpec> specs = parameter_specs(network.options);
  for (size_t i = 0; i < network.recurrent.size(); ++i) {
    const DirectionWeights& weights = network.recurrent[i];
    const at::Tensor* parts[] = {&weights.weight_ih, &weights.weight_hh, &weights.bias_ih, &weights.bias_hh};
    for (size_t k = 0; k < kParametersPerDirection; ++k)
      tensors.push_back({prefix + specs[i * kParametersPerDirection + k].name, parts[k]->contiguous()});
  }
  if (network.embedding.defined()) tensors.push_back({"embedding.weight", network.embedding.contiguous()});
  for (size_t i = 0; i < network.dense.size(); ++i)
    add_linear(tensors, i + 1 < network.dense.size() ? fmt::format("dense{}", i) : "output", network.dense[i]);
  return tensors;
}

}  // namespace rnnlab
