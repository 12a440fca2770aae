#include "models/model_graph.h"

#include <fmt/format.h>

#include "models/image_model.h"
#include "recurrent/cells/cell.h"

namespace rnnlab {
namespace {

using Shape = std::vector<int64_t>;
using tensorboard::GraphNode;

constexpr int64_t kBatch = -1;

// Adds operation after operation; each reads the output of the previous operation.
class Drawing {
 public:
  Drawing(const ModelSettings& settings, const DataShape& data, const std::string& loss)
      : settings_(settings), data_(data), loss_(loss) {}

  std::vector<GraphNode> draw() {
    if (settings_.kind == ModelKind::kImageClassifier)
      draw_images();
    else if (settings_.kind == ModelKind::kLanguageModel)
      draw_text();
    else
      draw_sequences();
    draw_loss();
    return std::move(nodes_);
  }

 private:
  void draw_images();
  void draw_text();
  void draw_sequences();
  void draw_recurrent();
  void draw_dense_layers();
  void draw_dense(const std::string& name, int64_t num_units, const std::string& weight_of);
  void draw_loss();

  int64_t num_directions() const { return settings_.bidirectional ? 2 : 1; }
  int64_t width() const { return nodes_shape_.back(); }

  void add(const std::string& name, const std::string& operation, const Shape& shape,
           const std::vector<std::string>& more_inputs = {}) {
    std::vector<std::string> inputs;
    if (!last_.empty()) inputs.push_back(last_);
    inputs.insert(inputs.end(), more_inputs.begin(), more_inputs.end());
    nodes_.push_back({.name = name, .operation = operation, .inputs = inputs, .shape = shape});
    last_ = name;
    nodes_shape_ = shape;
  }

  // Adds a parameter and returns the node's name. `scope` is the module's scope, `parameter` the name in checkpoints.
  std::string add_parameter(const std::string& scope, const std::string& parameter, const Shape& shape) {
    const std::string name = scope + "/" + parameter.substr(parameter.rfind('.') + 1);
    nodes_.push_back(
        {.name = name, .operation = "Parameter", .shape = shape, .attributes = {{"parameter", parameter}}});
    return name;
  }

  void add_dropout(const std::string& name, double probability) {
    if (probability > 0.0) add(name, fmt::format("Dropout({})", probability), nodes_shape_);
  }

  const ModelSettings& settings_;
  const DataShape& data_;
  const std::string& loss_;
  std::vector<GraphNode> nodes_;
  std::string last_;
  Shape nodes_shape_;  // shape of the last operation's output
};

void Drawing::draw_images() {
  int64_t num_channels = 1, num_rows = data_.sequence_length, num_columns = data_.input_size;
  add("images", "Input", {kBatch, num_channels, num_rows, num_columns});
  int64_t number = 0;
  for (const ConvolutionPlan& plan : convolution_plans(settings_.num_convolutions)) {
    const std::string scope = fmt::format("convolution{}", number++);
    const Shape shape = {kBatch, plan.num_channels, num_rows, num_columns};
    const Shape weight = {plan.num_channels, num_channels, plan.kernel_size, plan.kernel_size};
    add(scope + "/convolution", "Convolution2D", shape, {add_parameter(scope, scope + ".weight", weight)});
    add(scope + "/bias_add", "Add", shape, {add_parameter(scope, scope + ".bias", {plan.num_channels})});
    add(scope + "/relu", "ReLU", shape);
    num_channels = plan.num_channels;
    if (!plan.is_pooled) continue;
    num_rows /= 2;
    num_columns /= 2;
    add(scope + "/pool", "MaxPool2D(2)", {kBatch, num_channels, num_rows, num_columns});
  }
  add("flatten", "Flatten", {kBatch, num_channels * num_rows * num_columns});
  draw_dense_layers();
  draw_dense("output", data_.num_outputs, "output");
}

void Drawing::draw_text() {
  const int64_t size = settings_.effective_embedding_size();
  add("tokens", "Input", {data_.sequence_length, kBatch});
  const std::string table = settings_.tied ? "output.weight" : "embedding.weight";
  add("embedding/lookup", "Embedding", {data_.sequence_length, kBatch, size},
      {add_parameter("embedding", table, {data_.num_outputs, size})});
  draw_recurrent();
  add_dropout("output_dropout", settings_.output_dropout);
  draw_dense("output", data_.num_outputs, settings_.tied ? "embedding" : "output");
}

void Drawing::draw_sequences() {
  add("sequences", "Input", {data_.sequence_length, kBatch, data_.input_size});
  draw_recurrent();
  add("pooling", settings_.pooling == Pooling::kMean ? "MeanOverSteps" : "LastStep", {kBatch, width()});
  add_dropout("output_dropout", settings_.output_dropout);
  draw_dense_layers();
  draw_dense("output", data_.num_outputs, "output");
}

void Drawing::draw_recurrent() {
  const std::string cell(config::name_of(settings_.cell));
  const int64_t hidden_size = settings_.hidden_size;
  const RecurrentOptions options = recurrent_options(settings_, width());
  for (int64_t layer = 0; layer < settings_.num_layers; ++layer) {
    const std::string scope = fmt::format("recurrent/layer{}", layer);
    std::vector<std::string> parameters;
    for (int64_t direction = 0; direction < num_directions(); ++direction) {
      const std::string suffix = fmt::format("_l{}{}", layer, direction == 0 ? "" : "_reverse");
      for (const auto& [name, shape] : info_of(settings_.cell).parameters(options, width()))
        parameters.push_back(add_parameter(scope, fmt::format("recurrent.{}{}", name, suffix), shape));
    }
    add(scope + "/" + cell, cell, {data_.sequence_length, kBatch, hidden_size * num_directions()}, parameters);
    if (layer + 1 < settings_.num_layers) add_dropout(scope + "/dropout", settings_.dropout);
  }
}

void Drawing::draw_dense_layers() {
  for (size_t i = 0; i < settings_.dense.size(); ++i) {
    const std::string scope = fmt::format("dense{}", i);
    draw_dense(scope, settings_.dense[i], scope);
    const bool is_relu = settings_.dense_activation == Activation::kRelu;
    add(is_relu ? scope + "/relu" : scope + "/tanh", is_relu ? "ReLU" : "Tanh", nodes_shape_);
    add_dropout(scope + "/dropout", settings_.dense_dropout);
  }
}

// `weight_of` is the scope that owns the weights, which may be shared.
void Drawing::draw_dense(const std::string& name, int64_t num_units, const std::string& weight_of) {
  const std::string weight =
      weight_of == name ? add_parameter(name, name + ".weight", {num_units, width()}) : weight_of + "/weight";
  Shape shape = nodes_shape_;
  shape.back() = num_units;
  add(name + "/product", "MatMul", shape, {weight});
  add(name + "/bias_add", "Add", shape, {add_parameter(name, name + ".bias", {num_units})});
}

void Drawing::draw_loss() {
  Shape targets = {kBatch};
  if (data_.task == Task::kLanguageModel) targets = {data_.sequence_length, kBatch};
  if (data_.task == Task::kRegression || data_.task == Task::kBinary) targets = {kBatch, data_.num_outputs};
  nodes_.push_back({.name = "targets", .operation = "Input", .shape = targets});
  add("loss", loss_, {}, {"targets"});
}

}  // namespace

std::vector<GraphNode> model_graph(const ModelSettings& settings, const DataShape& shape, const std::string& loss) {
  return Drawing(settings, shape, loss).draw();
}

}  // namespace rnnlab
