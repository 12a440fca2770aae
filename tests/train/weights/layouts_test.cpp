// SPDX-License-Identifier: Apache-2.0
// Tests the layouts of weights without their libraries: names, shapes, and reading after writing.
#include "train/weights/layouts.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>

#include "golden.h"
#include "layers/parameters.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr int64_t kInputs = 3;
constexpr int64_t kHidden = 2;

RecurrentOptions options_of(Cell cell) { return {.cell = cell, .input_size = kInputs, .hidden_size = kHidden}; }

NetworkWeights network_of(const RecurrentOptions& options) {
  NetworkWeights network{.options = options,
                         .metadata = {options.cell, options.reset_gate, options.activation},
                         .recurrent = {},
                         .embedding = {},
                         .dense = {}};
  std::vector<at::Tensor> weights;
  for (const ParameterSpec& spec : parameter_specs(options)) weights.push_back(at::randn(spec.shape));
  for (size_t i = 0; i < weights.size(); i += kParametersPerDirection)
    network.recurrent.push_back({weights[i], weights[i + 1], weights[i + 2], weights[i + 3]});
  return network;
}

NetworkWeights with_head(NetworkWeights network) {
  const int64_t width = network.options.num_directions() * kHidden;
  network.embedding = at::randn({7, kInputs});
  network.dense = {{at::randn({5, width}), at::randn({5})}, {at::randn({4, 5}), at::randn({4})}};
  return network;
}

std::vector<std::string> names_and_shapes(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> lines;
  for (const NamedTensor& tensor : tensors) lines.push_back(tensor.name + " " + shape_text(spec_of(tensor)));
  return lines;
}

NetworkWeights written_and_read(const NetworkWeights& network, Layout layout) {
  const std::vector<NamedTensor> tensors = export_tensors(network, layout);
  return read_network({.name = "a.safetensors",
                       .tensors = views_of(tensors),
                       .metadata = metadata_of(network.metadata, layout),
                       .bytes = nullptr},
                      layout);
}

void expect_equal(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  ASSERT_EQ(names_and_shapes(a), names_and_shapes(b));
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i].tensor, b[i].tensor)) << a[i].name;
}

TEST(Layouts, KerasHasALayersVariablesUnderItsName) {
  const NetworkWeights network = with_head(network_of(options_of(Cell::kLstm)));
  expect_golden(names_and_shapes(export_tensors(network, Layout::kKeras)));
}

TEST(Layouts, KerasNumbersLayersAndNamesDirections) {
  RecurrentOptions options = options_of(Cell::kRnnTanh);
  options.num_layers = 2;
  options.bidirectional = true;
  expect_golden(names_and_shapes(export_tensors(network_of(options), Layout::kKeras)));
}

TEST(Layouts, KerasHasTwoBiasesOfAGruWhoseResetGateComesAfterTheProduct) {
  RecurrentOptions options = options_of(Cell::kGru);
  expect_golden(names_and_shapes(export_tensors(network_of(options), Layout::kKeras)));
  options.reset_gate = ResetGate::kBefore;
  EXPECT_EQ(names_and_shapes(export_tensors(network_of(options), Layout::kKeras)).back(), "gru/gru_cell/bias [6]");
}

TEST(Layouts, TensorFlowHasOneKernelOverInputsAndHiddenState) {
  expect_golden(names_and_shapes(export_tensors(network_of(options_of(Cell::kLstm)), Layout::kTensorFlow)));
  RecurrentOptions options = options_of(Cell::kRnnRelu);
  options.bidirectional = true;
  expect_golden(names_and_shapes(export_tensors(network_of(options), Layout::kTensorFlow)));
}

TEST(Layouts, TensorFlowHasTheGatesOfAGruApartFromItsCandidate) {
  RecurrentOptions options = options_of(Cell::kGru);
  const std::string after = "rnn/multi_rnn_cell/cell_0/cudnn_compatible_gru_cell/";
  EXPECT_THAT(
      names_and_shapes(export_tensors(network_of(options), Layout::kTensorFlow)),
      ElementsAre(after + "gates/kernel [5, 4]", after + "gates/bias [4]",
                  after + "candidate/input_projection/kernel [3, 2]",
                  after + "candidate/hidden_projection/kernel [2, 2]", after + "candidate/input_projection/bias [2]",
                  after + "candidate/hidden_projection/bias [2]"));
  options.reset_gate = ResetGate::kBefore;
  const std::string before = "rnn/multi_rnn_cell/cell_0/gru_cell/";
  EXPECT_THAT(names_and_shapes(export_tensors(network_of(options), Layout::kTensorFlow)),
              ElementsAre(before + "gates/kernel [5, 4]", before + "gates/bias [4]", before + "candidate/kernel [5, 2]",
                          before + "candidate/bias [2]"));
}

TEST(Layouts, TheSumOfBothBiasesGoesOutAndHalvesComeBack) {
  const NetworkWeights network = network_of(options_of(Cell::kLstm));
  for (const Layout layout : {Layout::kKeras, Layout::kTensorFlow}) {
    const DirectionWeights back = written_and_read(network, layout).recurrent.front();
    const DirectionWeights& sent = network.recurrent.front();
    EXPECT_TRUE(at::equal(back.weight_ih, sent.weight_ih));
    EXPECT_TRUE(at::equal(back.weight_hh, sent.weight_hh));
    EXPECT_TRUE(at::equal(back.bias_ih, back.bias_hh));
    EXPECT_TRUE(at::equal(back.bias_ih.add(back.bias_hh), sent.bias_ih.add(sent.bias_hh)));
  }
}

TEST(Layouts, WhatALayoutKeepsWholeComesBackBitForBit) {
  RecurrentOptions options = options_of(Cell::kGru);
  options.num_layers = 2;
  options.bidirectional = true;
  const NetworkWeights gru = with_head(network_of(options));
  for (const Layout layout : {Layout::kPyTorch, Layout::kKeras})
    expect_equal(export_tensors(written_and_read(gru, layout), Layout::kPyTorch),
                 export_tensors(gru, Layout::kPyTorch));
}

// Weights of each library are converted to each other layout and back, for every cell of libraries and both kinds of
// stacks.
TEST(Layouts, AFileOfOneBiasComesBackBitForBit) {
  for (const auto& [cell, name] : config::EnumNames<Cell>::kNames) {
    if (!info_of(cell).library) continue;
    for (const bool bidirectional : {false, true}) {
      for (const ResetGate reset_gate : {ResetGate::kAfter, ResetGate::kBefore}) {
        RecurrentOptions options = options_of(cell);
        options.num_layers = bidirectional ? 3 : 1;
        options.bidirectional = bidirectional;
        options.reset_gate = reset_gate;
        for (const Layout layout : {Layout::kKeras, Layout::kTensorFlow}) {
          SCOPED_TRACE(std::string(name) + (bidirectional ? " stack" : ""));
          const auto first = export_tensors(with_head(network_of(options)), layout);
          const NetworkWeights read =
              read_network({.name = "a", .tensors = views_of(first), .metadata = {}, .bytes = nullptr}, layout);
          expect_equal(export_tensors(written_and_read(read, Layout::kPyTorch), layout), first);
        }
      }
    }
  }
}

TEST(Layouts, AreToldApartByTheirNames) {
  const auto found = [](const std::vector<NamedTensor>& tensors) {
    return layout_of({.name = "a", .tensors = views_of(tensors), .metadata = {}, .bytes = nullptr});
  };
  const NetworkWeights bare = network_of(options_of(Cell::kGru));
  for (const Layout layout : written_layouts()) {
    EXPECT_EQ(found(export_tensors(bare, layout)), layout) << config::name_of(layout);
    EXPECT_EQ(found(export_tensors(with_head(bare), layout)), layout) << config::name_of(layout);
  }
  EXPECT_EQ(found({{"fc.weight", at::randn({2, 2})}}), std::nullopt);
}

TEST(Layouts, AKerasModelsOwnNumbersAndPathAreOnlyAnOrder) {
  RecurrentOptions options = options_of(Cell::kLstm);
  options.num_layers = 3;
  const NetworkWeights network = network_of(options);
  std::vector<NamedTensor> tensors = export_tensors(network, Layout::kKeras);
  const std::string theirs[] = {"sequential_4/lstm_9/", "sequential_4/lstm_10/", "sequential_4/lstm_11/"};
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i].name = theirs[i / 3] + tensors[i].name.substr(tensors[i].name.find('/') + 1);
  const NetworkWeights read =
      read_network({.name = "a", .tensors = views_of(tensors), .metadata = {}, .bytes = nullptr}, Layout::kKeras);
  ASSERT_EQ(read.recurrent.size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(at::equal(read.recurrent[i].weight_hh, network.recurrent[i].weight_hh)) << i;
}

TEST(Layouts, KnowWhatTheFileSaysOfTheFunction) {
  RecurrentOptions options = options_of(Cell::kGru);
  options.reset_gate = ResetGate::kBefore;
  options.activation = Activation::kRelu;
  for (const Layout layout : {Layout::kPyTorch, Layout::kKeras}) {
    const LayoutMetadata known = written_and_read(network_of(options), layout).metadata;
    EXPECT_EQ(known.cell, Cell::kGru);
    EXPECT_EQ(known.reset_gate, ResetGate::kBefore);
    EXPECT_EQ(known.activation, Activation::kRelu);
  }
  const auto plain = export_tensors(network_of(options_of(Cell::kRnnRelu)), Layout::kKeras);
  const LayoutMetadata unsaid =
      read_network({.name = "a", .tensors = views_of(plain), .metadata = {}, .bytes = nullptr}, Layout::kKeras)
          .metadata;
  EXPECT_EQ(unsaid.cell, std::nullopt) << "tanh and relu have the same weights";
}

TEST(Layouts, NameTheLayersThatTakeTheWeights) {
  RecurrentOptions options = options_of(Cell::kLstm);
  EXPECT_EQ(layer_text(options, Layout::kPyTorch), "torch.nn.LSTM(3, 2)");
  EXPECT_EQ(layer_text(options, Layout::kKeras), "keras.layers.LSTM(2)");
  expect_golden(layer_text(options, Layout::kTensorFlow));
  options.cell = Cell::kRnnRelu;
  options.num_layers = 2;
  options.bidirectional = true;
  expect_golden(layer_text(options, Layout::kPyTorch));
  expect_golden(layer_text(options, Layout::kKeras));
  expect_golden(layer_text(options, Layout::kTensorFlow));
  options = options_of(Cell::kGru);
  EXPECT_EQ(layer_text(options, Layout::kTensorFlow), "CudnnCompatibleGRUCell(2)");
  options.reset_gate = ResetGate::kBefore;
  expect_golden(layer_text(options, Layout::kKeras));
  EXPECT_EQ(layer_text(options, Layout::kTensorFlow), "GRUCell(2)");
}

// Keras 2 numbers the cells like the layers, and its first versions name no cell.
std::string keras_2_name(const std::string& name, const std::string& cell) {
  std::string renamed = name + ":0";
  const size_t at = renamed.find("_cell/");
  if (at == std::string::npos) return renamed;
  const size_t begin = renamed.rfind('/', at) + 1;
  return renamed.replace(begin, at + std::string("_cell/").size() - begin,
                         cell.empty() ? "" : renamed.substr(begin, at - begin) + cell + "/");
}

TEST(Layouts, KerasMayHaveTheNamesOfKeras2) {
  for (const Cell kind : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    for (const bool is_bidirectional : {false, true}) {
      RecurrentOptions options = options_of(kind);
      options.num_layers = 2;
      options.bidirectional = is_bidirectional;
      const NetworkWeights network = with_head(network_of(options));
      const std::vector<NamedTensor> of_keras_3 = export_tensors(network, Layout::kKeras);
      for (const std::string cell : {"_cell_7", "_cell", ""}) {
        std::vector<NamedTensor> tensors = of_keras_3;
        for (NamedTensor& tensor : tensors) tensor.name = keras_2_name(tensor.name, cell);
        SCOPED_TRACE(tensors.front().name);
        const TensorFile file{.name = "a", .tensors = views_of(tensors), .metadata = {}, .bytes = nullptr};
        ASSERT_EQ(layout_of(file), Layout::kKeras);
        const NetworkWeights read = read_network(file, Layout::kKeras);
        EXPECT_EQ(read.options.num_layers, 2);
        expect_equal(export_tensors(read, Layout::kKeras), of_keras_3);
      }
    }
}

}  // namespace
}  // namespace rnnlab
