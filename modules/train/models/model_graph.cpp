// SPDX-License-Identifier: Apache-2.0
#include "train/models/model_graph.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <numeric>

#include "base/error.h"

namespace rnnlab {

using tensorboard::GraphNode;

void ModelGraph::add(const std::string& name, const std::string& operation, const Shape& shape,
                     const std::vector<std::string>& more_inputs) {
  std::vector<std::string> inputs;
  if (!last_.empty()) inputs.push_back(last_);
  inputs.insert(inputs.end(), more_inputs.begin(), more_inputs.end());
  nodes_.push_back({.name = name, .operation = operation, .inputs = inputs, .shape = shape});
  last_ = name;
  shape_ = shape;
}

std::string ModelGraph::add_branch(const std::string& name, const std::string& operation, const Shape& shape,
                                   const std::vector<std::string>& inputs) {
  nodes_.push_back({.name = name, .operation = operation, .inputs = inputs, .shape = shape});
  return name;
}

std::string ModelGraph::add_parameter(const std::string& scope, const std::string& parameter, const Shape& shape) {
  const std::string name = scope + "/" + parameter.substr(parameter.rfind('.') + 1);
  nodes_.push_back({.name = name, .operation = "Parameter", .shape = shape, .attributes = {{"parameter", parameter}}});
  parameters_.push_back({parameter, shape});
  return name;
}

void ModelGraph::add_recurrent(const ModelSettings& settings, const std::string& network,
                               const std::vector<std::string>& more_inputs) {
  const std::string cell = cell_name(cell_of(settings));
  const RecurrentOptions options = recurrent_options(settings, width());
  for (int64_t layer = 0; layer < options.num_layers; ++layer) {
    const std::string scope = fmt::format("{}/layer{}", network, layer);
    std::vector<std::string> inputs = layer == 0 ? more_inputs : std::vector<std::string>();
    for (int64_t direction = 0; direction < options.num_directions(); ++direction) {
      const std::string suffix = fmt::format("_l{}{}", layer, direction == 0 ? "" : "_reverse");
      for (const auto& [name, shape] : cell_parameters(options, width()))
        inputs.push_back(add_parameter(scope, fmt::format("{}.{}{}", network, name, suffix), shape));
    }
    Shape shape = shape_;
    shape.back() = options.hidden_size * options.num_directions();
    add(scope + "/" + cell, cell, shape, inputs);
    if (layer + 1 < options.num_layers) add_dropout(scope + "/dropout", settings.dropout);
  }
}

void ModelGraph::add_dense_layers(const ModelSettings& settings) {
  static const std::map<Activation, const char*> kOperations = {{Activation::kTanh, "Tanh"},
                                                                {Activation::kRelu, "ReLU"}};
  for (size_t i = 0; i < settings.dense.size(); ++i) {
    const std::string scope = fmt::format("dense{}", i);
    add_linear(scope, settings.dense[i]);
    add(fmt::format("{}/{}", scope, config::name_of(settings.dense_activation)),
        kOperations.at(settings.dense_activation), shape_);
    add_dropout(scope + "/dropout", settings.dense_dropout);
  }
}

void ModelGraph::add_linear(const std::string& name, int64_t num_units, const std::string& weight_of) {
  const std::string weight =
      weight_of.empty() ? add_parameter(name, name + ".weight", {num_units, width()}) : weight_of + "/weight";
  Shape shape = shape_;
  shape.back() = num_units;
  add(name + "/product", "MatMul", shape, {weight});
  add(name + "/bias_add", "Add", shape, {add_parameter(name, name + ".bias", {num_units})});
}

void ModelGraph::add_dropout(const std::string& name, double probability) {
  if (probability > 0.0) add(name, fmt::format("Dropout({})", probability), shape_);
}

namespace {

ModelGraph::Shape shape_of_sequence_targets(const DataShape& shape) {
  switch (shape.task) {
    case Task::kClassification:
      return {kAnyBatchSize};
    case Task::kBinary:
    case Task::kRegression:
      return {kAnyBatchSize, shape.num_outputs};
    case Task::kLanguageModel:
      return {shape.sequence_length, kAnyBatchSize};
  }
  fail_invariant("a listed task", __FILE__, __LINE__, "shape_of_sequence_targets does not know the task");
}

ModelGraph::Shape shape_of_targets(const DataShape& shape) {
  ModelGraph::Shape targets = shape_of_sequence_targets(shape);
  if (shape.target_per_step) targets.insert(targets.begin(), shape.sequence_length);
  return targets;
}

}  // namespace

ModelGraph draw_model(const ModelSettings& settings, const DataShape& shape) {
  ModelGraph graph;
  info_of(settings.kind).draw(graph, settings, shape);
  return graph;
}

namespace {

// Returns how often a sample meets each weight of an operation with this output: once for a vector, at every step of a
// sequence (T, B, N), at every pixel of images (B, channels, rows, columns).
double num_positions(const ModelGraph::Shape& output) {
  if (output.size() == 3) return static_cast<double>(output[0]);
  return output.size() == 4 ? static_cast<double>(output[2]) * static_cast<double>(output[3]) : 1;
}

double num_weights(const GraphNode& operation, const std::map<std::string, double>& weights) {
  double sum = 0;
  for (const std::string& input : operation.inputs)
    if (const auto found = weights.find(input); found != weights.end()) sum += found->second;
  return sum;
}

}  // namespace

double forward_flops(const ModelGraph& graph) {
  std::map<std::string, double> weights;  // the numbers of values of the parameters that are not vectors, by node
  double products = 0;
  for (const GraphNode& node : graph.nodes()) {
    if (node.operation == "Parameter" && node.shape.size() > 1)
      weights[node.name] = std::accumulate(node.shape.begin(), node.shape.end(), 1.0, std::multiplies<>());
    else if (node.operation != "Embedding")
      products += num_weights(node, weights) * num_positions(node.shape);
  }
  return 2 * products;
}

std::vector<GraphNode> model_graph(const ModelSettings& settings, const DataShape& shape, const std::string& loss) {
  const ModelGraph graph = draw_model(settings, shape);
  std::vector<GraphNode> nodes = graph.nodes();
  nodes.push_back({.name = "targets", .operation = "Input", .shape = shape_of_targets(shape)});
  nodes.push_back({.name = "loss", .operation = loss, .inputs = {nodes[nodes.size() - 2].name, "targets"}});
  return nodes;
}

}  // namespace rnnlab
