// SPDX-License-Identifier: Apache-2.0
#include "train/models/model_graph.h"

#include <gmock/gmock.h>

#include <set>

#include "train/models/small_models.h"

namespace rnnlab {
namespace {

using tensorboard::GraphNode;
using ::testing::ElementsAre;

std::vector<GraphNode> graph_of(const ModelSettings& settings, const DataShape& shape) {
  return model_graph(settings, shape, "cross_entropy");
}

const GraphNode& node_in(const std::vector<GraphNode>& nodes, const std::string& name) {
  for (const GraphNode& node : nodes)
    if (node.name == name) return node;
  throw std::runtime_error("no node " + name);
}

using Parameters = std::map<std::string, std::vector<int64_t>>;

Parameters parameters_in(const std::vector<GraphNode>& nodes) {
  Parameters parameters;
  for (const GraphNode& node : nodes)
    if (node.operation == "Parameter") parameters[node.attributes.at(0).second] = node.shape;
  return parameters;
}

// The parameters are the model's, every edge begins at a node, and every name is unique.
void expect_drawn_as_it_is(const ModelSettings& settings, const DataShape& shape) {
  const auto nodes = graph_of(settings, shape);
  Parameters of_model;
  for (const auto& parameter : make_model(settings, LayerKind::kFused, shape)->named_parameters())
    of_model[parameter.key()] = parameter.value().sizes().vec();
  EXPECT_EQ(parameters_in(nodes), of_model);
  std::set<std::string> names;
  for (const GraphNode& node : nodes) EXPECT_TRUE(names.insert(node.name).second) << node.name;
  for (const GraphNode& node : nodes)
    for (const std::string& input : node.inputs) EXPECT_TRUE(names.contains(input)) << node.name << " reads " << input;
}

DataShape image_shape() { return {Task::kClassification, 28, 28, 10, false}; }

ModelSettings mnist_rows() {
  ModelSettings settings;
  settings.hidden_size = 128;
  settings.num_layers = 2;
  settings.dropout = 0.2;
  settings.dense = {32};
  settings.dense_dropout = 0.2;
  return settings;
}

TEST(ModelGraph, HasTheParametersOfEveryKindOfModel) {
  expect_drawn_as_it_is(mnist_rows(), image_shape());
  auto bidirectional = mnist_rows();
  bidirectional.bidirectional = true;
  bidirectional.cell = Cell::kGru;
  bidirectional.pooling = Pooling::kMean;
  expect_drawn_as_it_is(bidirectional, image_shape());
  auto images = ModelSettings();
  images.kind = ModelKind::kImageClassifier;
  images.dense = {1024, 20};
  for (const int64_t num_convolutions : {2, 4}) {
    images.num_convolutions = num_convolutions;
    expect_drawn_as_it_is(images, image_shape());
  }
  auto text = ModelSettings();
  text.kind = ModelKind::kLanguageModel;
  for (const bool tied : {false, true}) {
    text.tied = tied;
    expect_drawn_as_it_is(text, text_shape(65));
  }
}

TEST(ModelGraph, GoesFromTheInputsToTheLossInTheOrderOfTheModel) {
  std::vector<std::string> path;
  for (const GraphNode& node : graph_of(mnist_rows(), image_shape()))
    if (node.operation != "Parameter") path.push_back(node.name + " " + node.operation);
  EXPECT_THAT(path,
              ElementsAre("sequences Input", "recurrent/layer0/lstm lstm", "recurrent/layer0/dropout Dropout(0.2)",
                          "recurrent/layer1/lstm lstm", "pooling LastStep", "dense0/product MatMul",
                          "dense0/bias_add Add", "dense0/relu ReLU", "dense0/dropout Dropout(0.2)",
                          "output/product MatMul", "output/bias_add Add", "targets Input", "loss cross_entropy"));
}

TEST(ModelGraph, HasABranchForEachColumnOfCategories) {
  DataShape shape = {Task::kClassification, 5, 28, 10, false};
  shape.category_sizes = {4, 9};
  expect_drawn_as_it_is(mnist_rows(), shape);
  const auto nodes = graph_of(mnist_rows(), shape);
  EXPECT_THAT(node_in(nodes, "category0/lookup").inputs, ElementsAre("sequences", "category0/weight"));
  EXPECT_THAT(node_in(nodes, "category1/lookup").inputs, ElementsAre("sequences", "category1/weight"));
  EXPECT_THAT(node_in(nodes, "category1/lookup").shape, ElementsAre(28, kAnyBatchSize, 5));
  EXPECT_THAT(node_in(nodes, "step_vectors").inputs, ElementsAre("sequences", "category0/lookup", "category1/lookup"));
  EXPECT_THAT(node_in(nodes, "step_vectors").shape, ElementsAre(28, kAnyBatchSize, 3 + 2 + 5));
  EXPECT_EQ(node_in(nodes, "recurrent/layer0/lstm").inputs.front(), "step_vectors");
}

TEST(ForwardFlops, CountsEveryWeightAtEveryStep) {
  const double of_layers = 28 * (4 * 128 * (28 + 128) + 4 * 128 * (128 + 128));
  EXPECT_EQ(forward_flops(draw_model(mnist_rows(), image_shape())), 2 * (of_layers + 128 * 32 + 32 * 10));
}

TEST(ForwardFlops, CountsConvolutionsAtEveryPixel) {
  ModelSettings settings;
  settings.kind = ModelKind::kImageClassifier;
  settings.dense = {100};
  const double of_convolutions = 28 * 28 * 32 * 25 + 14 * 14 * 64 * 32 * 25;
  EXPECT_EQ(forward_flops(draw_model(settings, image_shape())), 2 * (of_convolutions + 7 * 7 * 64 * 100 + 100 * 10));
}

TEST(ForwardFlops, CountsATiedEmbeddingAsAProductButNotAsALookup) {
  ModelSettings settings;
  settings.kind = ModelKind::kLanguageModel;
  settings.hidden_size = 16;
  const DataShape text = {Task::kLanguageModel, 50, 20, 50, false};
  const double untied = forward_flops(draw_model(settings, text));
  EXPECT_EQ(untied, 2 * 20 * (4 * 16 * (16 + 16) + 16 * 50));
  settings.tied = true;
  EXPECT_EQ(forward_flops(draw_model(settings, text)), untied);
}

TEST(ModelGraph, SaysTheShapeOfWhatEachOperationGives) {
  auto settings = ModelSettings();
  settings.kind = ModelKind::kImageClassifier;
  settings.dense = {1024};
  const auto nodes = graph_of(settings, image_shape());
  EXPECT_THAT(node_in(nodes, "images").shape, ElementsAre(-1, 1, 28, 28));
  EXPECT_THAT(node_in(nodes, "convolution1/relu").shape, ElementsAre(-1, 64, 14, 14));
  EXPECT_THAT(node_in(nodes, "convolution1/pool").shape, ElementsAre(-1, 64, 7, 7));
  EXPECT_THAT(node_in(nodes, "flatten").shape, ElementsAre(-1, 3136));
  EXPECT_THAT(node_in(nodes, "output/bias_add").shape, ElementsAre(-1, 10));
  EXPECT_THAT(node_in(nodes, "convolution1/convolution").inputs,
              ElementsAre("convolution0/pool", "convolution1/weight"));
}

}  // namespace
}  // namespace rnnlab
