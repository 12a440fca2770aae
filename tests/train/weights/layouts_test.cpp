// SPDX-License-Identifier: Apache-2.0
// Tests the layouts of weights: names, shapes, reading after writing, which files of other programs are refused, and
// the outputs of the real libraries, as check_layouts.py wrote them.
#include "train/weights/layouts.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <random>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "layers/cells/cell.h"
#include "layers/parameters.h"
#include "runs/run_context.h"
#include "train/models/model.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using testing::TemporaryFolder;

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

TensorFile weights_of(const std::vector<NamedTensor>& tensors, const TensorMetadata& metadata = {}) {
  return {.name = "a.st", .tensors = views_of(tensors), .metadata = metadata, .bytes = nullptr};
}

NetworkWeights written_and_read(const NetworkWeights& network, Layout layout) {
  const std::vector<NamedTensor> tensors = export_tensors(network, layout);
  return read_network(weights_of(tensors, metadata_of(network.metadata, layout)), layout);
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
          const NetworkWeights read = read_network(weights_of(first), layout);
          expect_equal(export_tensors(written_and_read(read, Layout::kPyTorch), layout), first);
        }
      }
    }
  }
}

TEST(Layouts, AreToldApartByTheirNames) {
  const auto found = [](const std::vector<NamedTensor>& tensors) { return layout_of(weights_of(tensors)); };
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
  const NetworkWeights read = read_network(weights_of(tensors), Layout::kKeras);
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
  const LayoutMetadata unsaid = read_network(weights_of(plain), Layout::kKeras).metadata;
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
        const TensorFile file = weights_of(tensors);
        ASSERT_EQ(layout_of(file), Layout::kKeras);
        const NetworkWeights read = read_network(file, Layout::kKeras);
        EXPECT_EQ(read.options.num_layers, 2);
        expect_equal(export_tensors(read, Layout::kKeras), of_keras_3);
      }
    }
}

using Shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

// Reads a file of zeros of these names and shapes, in the layout that is detected.
void read_shapes(const Shapes& shapes, const TensorMetadata& metadata = {}, at::ScalarType type = at::kFloat) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, shape] : shapes) tensors.push_back({name, at::zeros(shape, type)});
  const TensorFile file = weights_of(tensors, metadata);
  read_network(file, layout_of(file).value());
}

void expect_refused(const Shapes& shapes, const TensorMetadata& metadata = {}, at::ScalarType type = at::kFloat,
                    std::source_location where = std::source_location::current()) {
  expect_error(
      ExitCode::kCheckpoint, [&] { read_shapes(shapes, metadata, type); }, where);
}

Shapes keras_lstm(const std::string& layer, int64_t inputs = 3) {
  const std::string cell = layer + "/lstm_cell/";
  return {{cell + "kernel", {inputs, 8}}, {cell + "recurrent_kernel", {2, 8}}, {cell + "bias", {8}}};
}

Shapes both(Shapes first, const Shapes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const std::string kFirstCell = "rnn/multi_rnn_cell/cell_0/";

TEST(LayoutRefusals, ATensorThatIsMissingOrOfAnotherShapeOrType) {
  Shapes shapes = keras_lstm("lstm");
  shapes.pop_back();
  expect_refused(shapes);
  shapes.push_back({"lstm/lstm_cell/bias", {2, 8}});
  expect_refused(shapes);
  expect_refused(keras_lstm("lstm"), {}, at::kDouble);
  expect_refused({{"weight_ih_l0", {8, 3}}});
}

TEST(LayoutRefusals, ATensorThatNoLayerHas) { expect_refused(both(keras_lstm("lstm"), {{"norm/gamma", {2}}})); }

TEST(LayoutRefusals, SizesOfNothing) {
  expect_refused(keras_lstm("lstm", 0));
  expect_refused({{"weight_ih_l0", {8, 3}}, {"weight_hh_l0", {0, 2}}});
  expect_refused({{"weight_ih_l0", {8, 3}}, {"weight_hh_l0", {}}});
}

TEST(LayoutRefusals, ARecurrentWeightOfNoCell) {
  expect_refused({{"weight_ih_l0", {4, 3}}, {"weight_hh_l0", {4, 2}}});
  expect_refused({{"a/conv_lstm_cell/recurrent_kernel", {2, 8}}});
  expect_refused({{kFirstCell + "nas_cell/kernel", {2, 8}}});
  expect_refused({{kFirstCell + "cudnn_compatible_lstm_cell/kernel", {5, 9}}});
}

TEST(LayoutRefusals, KerasLayersWhoseOrderCannotBeTold) {
  expect_refused(both(keras_lstm("encoder"), keras_lstm("decoder", 2)));
  expect_refused(both(keras_lstm("lstm"), keras_lstm("lstm_0", 2)));
  EXPECT_NO_THROW(read_shapes(both(keras_lstm("rnn_2"), keras_lstm("rnn_10", 2))));
}

TEST(LayoutRefusals, KerasLayersThatAreNoStack) {
  expect_refused(both(keras_lstm("lstm"), keras_lstm("lstm_1", 3)));
  expect_refused(both({{"rnn/gru_cell/recurrent_kernel", {2, 6}}}, keras_lstm("rnn_1", 2)));
  expect_refused(both(both(keras_lstm("rnn/forward_lstm"), keras_lstm("rnn/backward_lstm")), keras_lstm("rnn_1", 4)));
  expect_refused(keras_lstm("rnn/backward_lstm"));
  expect_refused(both(keras_lstm("rnn/forward_a"), keras_lstm("rnn/forward_b")));
}

// The weights of a cell with a forget bias would load without a message and compute a different function.
TEST(LayoutRefusals, TensorFlowCellsWithABiasThatIsNotInTheFile) {
  expect_refused({{kFirstCell + "lstm_cell/kernel", {5, 8}}, {kFirstCell + "lstm_cell/bias", {8}}});
}

TEST(LayoutRefusals, MetadataThatTheTensorsContradict) {
  expect_refused(keras_lstm("lstm"), {{"rnnlab.cell", "gru"}});
  expect_refused({{kFirstCell + "basic_rnn_cell/kernel", {5, 2}}}, {{"rnnlab.cell", "lstm"}});
  expect_refused({{kFirstCell + "gru_cell/gates/kernel", {5, 4}}}, {{"rnnlab.reset_gate", "after"}});
  expect_refused(keras_lstm("lstm"), {{"rnnlab.activation", "selu"}});
}

TEST(LayoutRefusals, AnActivationThatTheLayoutHasNot) {
  const NetworkWeights network{
      .options = {.activation = Activation::kRelu}, .metadata = {}, .recurrent = {}, .embedding = {}, .dense = {}};
  expect_error(ExitCode::kUsage, [&] { export_tensors(network, Layout::kTensorFlow); });
}

TEST(LayoutRefusals, WeightsOfAnotherFunction) {
  const auto refusal = [](const LayoutMetadata& known, const RecurrentOptions& options) {
    expect_error(ExitCode::kCheckpoint, [&] { require_same_function(known, options, "a.st"); });
  };
  refusal({.cell = Cell::kGru}, {});
  refusal({.cell = Cell::kGru, .reset_gate = ResetGate::kBefore}, {.cell = Cell::kGru});
  refusal({.cell = Cell::kSlstm, .heads = 2}, {.cell = Cell::kSlstm, .heads = 4});
  EXPECT_NO_THROW(require_same_function({}, {.cell = Cell::kRnnRelu}, "a.st"));
}

// With every value of every option of every cell.
TEST(LayoutRefusals, WeightsOfAnotherValueOfAnyOption) {
  for (const Cell cell : all_cells())
    for (const RecurrentOptions& options : unusual_options(cell)) {
      const TensorFile file = weights_of({}, to_entries(function_of(options)));
      EXPECT_NO_THROW(require_same_function(stated_in(file), options, "a.st")) << config::name_of(cell);
      if (file.metadata == to_entries(function_of({.cell = cell}))) continue;  // an option that the tensors show
      EXPECT_THROW(require_same_function(stated_in(file), {.cell = cell}, "a.st"), UserError) << config::name_of(cell);
    }
}

TEST(LayoutRefusals, TwoNamesThatKeras3WouldNotTellApart) {
  expect_refused({{"lstm/lstm_cell_1/kernel:0", {3, 8}},
                  {"lstm/lstm_cell_2/kernel:0", {3, 8}},
                  {"lstm/lstm_cell_1/recurrent_kernel:0", {2, 8}}});
}

TEST(LayoutRefusals, TheCellsOfCudnnThatKeras2Had) {
  expect_refused(
      {{"cu_dnnlstm/kernel:0", {3, 8}}, {"cu_dnnlstm/recurrent_kernel:0", {2, 8}}, {"cu_dnnlstm/bias:0", {16}}});
}

// Manipulated files: for any names, shapes and types, reading returns weights that every layout can represent, or
// throws one clear refusal.
class Tampering {
 public:
  explicit Tampering(uint32_t seed) : random_(seed) {}

  void change(std::vector<NamedTensor>& tensors) {
    if (tensors.empty()) return;  // a cell of xlstm has two tensors, which three changes can erase
    NamedTensor& tensor = tensors[below(tensors.size())];
    switch (below(5)) {
      case 0:
        tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(&tensor - tensors.data()));
        break;
      case 1:
        tensor.tensor = at::zeros(strange_shape());
        break;
      case 2:
        tensor.tensor = tensor.tensor.to(at::kDouble);
        break;
      case 3:
        tensor.name = tampered(tensor.name);
        break;
      default:
        tensors.push_back({tampered(tensor.name), tensor.tensor});
    }
  }

 private:
  size_t below(size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random_); }

  std::vector<int64_t> strange_shape() {
    std::vector<int64_t> shape(below(4));
    for (int64_t& size : shape) size = static_cast<int64_t>(below(14));
    return shape;
  }

  std::string tampered(std::string name) {
    constexpr const char* kPieces[] = {"", "/", "_1", "_", "0", "9", "forward_", "backward_", "/kernel", "_reverse"};
    const size_t at = below(name.size() + 1);
    return name.replace(at, below(6), kPieces[below(std::size(kPieces))]);
  }

  std::mt19937 random_;
};

// "" where it is read, and every layout can say it or refuses to.
std::string refusal_of(const TensorFile& file) {
  const auto layout = layout_of(file);
  if (!layout) return "no layout";
  try {
    const NetworkWeights network = read_network(file, *layout);
    const bool is_in_libraries = info_of(network.options.cell).library.has_value();
    for (const Layout other : written_layouts())
      if (is_in_libraries || other == Layout::kPyTorch) export_tensors(network, other);
    return "";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kCheckpoint) << error.what();
    return error.what();
  }
}

TEST(StrangeFiles, AreReadOrRefusedButNeverAnythingElse) {
  int num_read = 0;
  int num_refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RNNLAB_SOURCE_DIR "/tests/train/weights/data")) {
    const TensorFile golden = read_safetensors(entry.path());
    std::vector<NamedTensor> whole = to_tensors(golden.tensors);
    std::erase_if(whole, [](const NamedTensor& tensor) { return tensor.name.starts_with("golden."); });
    for (uint32_t seed = 0; seed < 300; ++seed) {
      SCOPED_TRACE(entry.path().string() + " with seed " + std::to_string(seed));
      std::vector<NamedTensor> tensors = whole;
      Tampering tampering(seed);
      for (uint32_t i = 0; i <= seed % 3; ++i) tampering.change(tensors);
      const std::string refusal = refusal_of(weights_of(tensors));
      ++(refusal.empty() ? num_read : num_refused);
    }
  }
  EXPECT_GT(num_refused, 6000) << "of 9000";
  EXPECT_GT(num_read, 10) << "some names may change without an effect";
}

constexpr double kGoldenTolerance = 1e-6;  // outputs of order one, in float32

struct GoldenCase {
  std::string name;
  Layout layout;
  Cell cell;
  ResetGate reset_gate;
  bool is_stack;
};

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> cases;
  for (const Layout layout : written_layouts()) {
    const auto layout_name = config::name_of(layout);
    for (const bool is_stack : {false, true}) {
      const auto add = [&](const std::string& name, Cell cell, ResetGate reset_gate) {
        cases.push_back(
            {std::string(layout_name) + "_" + name + (is_stack ? "_stack" : ""), layout, cell, reset_gate, is_stack});
      };
      for (const auto& [cell, name] : config::EnumNames<Cell>::kNames)
        if (info_of(cell).library) add(std::string(name), cell, ResetGate::kAfter);
      if (layout != Layout::kPyTorch) add("gru_before", Cell::kGru, ResetGate::kBefore);
    }
  }
  return cases;
}

class GoldenLayouts : public ::testing::TestWithParam<GoldenCase> {};

// Writes only the weights, as a user has them.
void write_weights(const TensorFile& golden, const std::filesystem::path& file) {
  std::vector<TensorView> weights = golden.tensors;
  std::erase_if(weights, [](const TensorView& view) { return view.spec.name.starts_with("golden."); });
  write_safetensors(file, SafetensorsImage(weights));
}

TEST_P(GoldenLayouts, GiveTheLibrarysOutputs) {
  const GoldenCase& golden_case = GetParam();
  const TensorFile golden =
      read_safetensors(std::string(RNNLAB_SOURCE_DIR "/tests/train/weights/data/") + golden_case.name + ".safetensors");
  const TemporaryFolder folder;
  write_weights(golden, folder.path() / "weights.safetensors");
  EXPECT_EQ(layout_of(golden), golden_case.layout);

  const at::Tensor inputs = to_tensor(*golden.find("golden.inputs")).tensor;    // (N, T, F)
  const at::Tensor outputs = to_tensor(*golden.find("golden.outputs")).tensor;  // (N, K)
  const ModelSettings settings{.kind = ModelKind::kSequenceRegressor,
                               .cell = golden_case.cell,
                               .hidden_size = 3,
                               .num_layers = golden_case.is_stack ? 2 : 1,
                               .bidirectional = golden_case.is_stack,
                               .reset_gate = golden_case.reset_gate,
                               .front = {},
                               .dense = {4},
                               .dense_activation = Activation::kTanh,
                               .embedding_size = {},
                               .initial_weights = {}};
  const DataShape shape{.task = Task::kRegression,
                        .input_size = inputs.size(2),
                        .sequence_length = inputs.size(1),
                        .num_outputs = outputs.size(1),
                        .has_lengths = false};
  const auto model = make_model(settings, LayerKind::kNaive, shape);
  load_initial_weights(*model, folder.path() / "weights.safetensors");

  const at::NoGradGuard no_grad;
  model->eval();
  Batch batch;
  batch.inputs = inputs.transpose(0, 1).contiguous();
  batch.size = inputs.size(0);
  EXPECT_LT((model->forward(batch) - outputs).abs().max().item<double>(), kGoldenTolerance);
  EXPECT_GT(outputs.abs().max().item<double>(), 0.01) << "outputs near zero would not prove anything";
}

INSTANTIATE_TEST_SUITE_P(OfEveryLibrary, GoldenLayouts, ::testing::ValuesIn(golden_cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace rnnlab
