// SPDX-License-Identifier: Apache-2.0
// Tests which files of weights from other programs are refused, with one message each.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "base/expect_error.h"
#include "layers/cells/cell.h"
#include "train/weights/layouts.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

using testing::expect_error;

using Shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

// Reads a file of zeros of these names and shapes, in the layout that is detected.
void read_shapes(const Shapes& shapes, const TensorMetadata& metadata = {}, at::ScalarType type = at::kFloat) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, shape] : shapes) tensors.push_back({name, at::zeros(shape, type)});
  const TensorFile file{.name = "a.st", .tensors = views_of(tensors), .metadata = metadata, .bytes = nullptr};
  read_network(file, layout_of(file).value());
}

void expect_refused(const std::string& message, const Shapes& shapes, const TensorMetadata& metadata = {},
                    at::ScalarType type = at::kFloat) {
  expect_error(ExitCode::kCheckpoint, "a.st: " + message, [&] { read_shapes(shapes, metadata, type); });
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
  expect_refused("tensor 'lstm/lstm_cell/bias' is missing, expected F32 [8]", shapes);
  shapes.push_back({"lstm/lstm_cell/bias", {2, 8}});
  expect_refused("tensor 'lstm/lstm_cell/bias' is F32 [2, 8], expected F32 [8]", shapes);
  expect_refused("tensor 'lstm/lstm_cell/kernel' is F64 [3, 8], expected F32 [3, 8]", keras_lstm("lstm"), {},
                 at::kDouble);
  expect_refused("tensor 'weight_hh_l0' is missing", {{"weight_ih_l0", {8, 3}}});
}

TEST(LayoutRefusals, ATensorThatNoLayerHas) {
  expect_refused("tensor 'norm/gamma', F32 [2], is not part of the model",
                 both(keras_lstm("lstm"), {{"norm/gamma", {2}}}));
}

TEST(LayoutRefusals, SizesOfNothing) {
  expect_refused("tensor 'lstm/lstm_cell/kernel' has shape [0, 8], expected 2 sizes above zero", keras_lstm("lstm", 0));
  expect_refused("tensor 'weight_hh_l0' has shape [0, 2], expected 2 sizes above zero",
                 {{"weight_ih_l0", {8, 3}}, {"weight_hh_l0", {0, 2}}});
  expect_refused("tensor 'weight_hh_l0' has shape [], expected 2 sizes above zero",
                 {{"weight_ih_l0", {8, 3}}, {"weight_hh_l0", {}}});
}

TEST(LayoutRefusals, ARecurrentWeightOfNoCell) {
  expect_refused("tensor 'weight_hh_l0' has 2 rows for each column, expected 4 (lstm), 3 (gru) or 1 (a plain cell)",
                 {{"weight_ih_l0", {4, 3}}, {"weight_hh_l0", {4, 2}}});
  expect_refused("got a 'conv_lstm_cell', expected lstm_cell, gru_cell or simple_rnn_cell",
                 {{"a/conv_lstm_cell/recurrent_kernel", {2, 8}}});
  expect_refused(
      "no known cell follows 'rnn/multi_rnn_cell/cell_0/', expected cudnn_compatible_lstm_cell, "
      "cudnn_compatible_gru_cell, gru_cell or basic_rnn_cell",
      {{kFirstCell + "nas_cell/kernel", {2, 8}}});
  expect_refused(
      "tensor 'rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell/kernel' has shape [5, 9], expected "
      "[inputs + H, 4 * H]",
      {{kFirstCell + "cudnn_compatible_lstm_cell/kernel", {5, 9}}});
}

TEST(LayoutRefusals, KerasLayersWhoseOrderCannotBeTold) {
  expect_refused(
      "the names of the layers 'decoder' and 'encoder' do not show which is the first; give them one name with "
      "numbers, such as decoder and decoder_1",
      both(keras_lstm("encoder"), keras_lstm("decoder", 2)));
  expect_refused(
      "the names of the layers 'lstm' and 'lstm_0' do not show which is the first; give them one name with numbers, "
      "such as lstm and lstm_1",
      both(keras_lstm("lstm"), keras_lstm("lstm_0", 2)));
  EXPECT_NO_THROW(read_shapes(both(keras_lstm("rnn_2"), keras_lstm("rnn_10", 2))));
}

TEST(LayoutRefusals, KerasLayersThatAreNoStack) {
  expect_refused("tensor 'lstm_1/lstm_cell/kernel' is F32 [3, 8], expected F32 [2, 8]",
                 both(keras_lstm("lstm"), keras_lstm("lstm_1", 3)));
  expect_refused("has layers of 'gru_cell' and of 'lstm_cell'; all layers of a model must be of one kind",
                 both({{"rnn/gru_cell/recurrent_kernel", {2, 6}}}, keras_lstm("rnn_1", 2)));
  expect_refused("some of its layers are bidirectional and some are not; all layers of a model must be alike",
                 both(both(keras_lstm("rnn/forward_lstm"), keras_lstm("rnn/backward_lstm")), keras_lstm("rnn_1", 4)));
  expect_refused("some of its layers are bidirectional and some are not; all layers of a model must be alike",
                 keras_lstm("rnn/backward_lstm"));
  expect_refused("'rnn/forward_a/lstm_cell' and 'rnn/forward_b/lstm_cell' are both the same direction of one layer",
                 both(keras_lstm("rnn/forward_a"), keras_lstm("rnn/forward_b")));
}

// The weights of a cell with a forget bias would load without a message and compute a different function.
TEST(LayoutRefusals, TensorFlowCellsWithABiasThatIsNotInTheFile) {
  expect_refused(
      "has weights of a lstm_cell, to whose forget gate TensorFlow adds forget_bias, 1.0 by default: add it "
      "to the third quarter of each bias, and call the cells cudnn_compatible_lstm_cell",
      {{kFirstCell + "lstm_cell/kernel", {5, 8}}, {kFirstCell + "lstm_cell/bias", {8}}});
}

TEST(LayoutRefusals, MetadataThatTheTensorsContradict) {
  expect_refused("metadata rnnlab.cell: got gru, but the tensors are those of lstm", keras_lstm("lstm"),
                 {{"rnnlab.cell", "gru"}});
  expect_refused("metadata rnnlab.cell: got lstm, but the tensors are those of a plain cell",
                 {{kFirstCell + "basic_rnn_cell/kernel", {5, 2}}}, {{"rnnlab.cell", "lstm"}});
  expect_refused("metadata rnnlab.reset_gate: got after, but the tensors are those of before",
                 {{kFirstCell + "gru_cell/gates/kernel", {5, 4}}}, {{"rnnlab.reset_gate", "after"}});
  expect_refused("metadata rnnlab.activation: got 'selu', expected tanh or relu", keras_lstm("lstm"),
                 {{"rnnlab.activation", "selu"}});
}

TEST(LayoutRefusals, AnActivationThatTheLayoutHasNot) {
  const NetworkWeights network{
      .options = {.activation = Activation::kRelu}, .metadata = {}, .recurrent = {}, .embedding = {}, .dense = {}};
  expect_error(ExitCode::kUsage, [&] { export_tensors(network, Layout::kTensorFlow); });
}

TEST(LayoutRefusals, WeightsOfAnotherFunction) {
  const auto refusal = [](const LayoutMetadata& known, const RecurrentOptions& options, const std::string& message) {
    expect_error(ExitCode::kCheckpoint, message, [&] { require_same_function(known, options, "a.st"); });
  };
  refusal({.cell = Cell::kGru}, {},
          "a.st: its weights are for model.cell: gru, and the model has lstm; with lstm they would compute a different "
          "function: set model.cell=gru");
  refusal({.cell = Cell::kGru, .reset_gate = ResetGate::kBefore}, {.cell = Cell::kGru},
          "a.st: its weights are for model.reset_gate: before, and the model has after; with after they would compute "
          "a different function: set model.reset_gate=before");
  refusal({.cell = Cell::kSlstm, .heads = 2}, {.cell = Cell::kSlstm, .heads = 4},
          "a.st: its weights are for model.heads: 2, and the model has 4; with 4 they would compute a different "
          "function: set model.heads=2");
  EXPECT_NO_THROW(require_same_function({}, {.cell = Cell::kRnnRelu}, "a.st"));
}

// With every value of every option of every cell.
TEST(LayoutRefusals, WeightsOfAnotherValueOfAnyOption) {
  for (const Cell cell : all_cells())
    for (const RecurrentOptions& options : unusual_options(cell)) {
      const TensorFile file{
          .name = "a.st", .tensors = {}, .metadata = to_entries(function_of(options)), .bytes = nullptr};
      EXPECT_NO_THROW(require_same_function(stated_in(file), options, "a.st")) << config::name_of(cell);
      if (file.metadata == to_entries(function_of({.cell = cell}))) continue;  // an option that the tensors show
      EXPECT_THROW(require_same_function(stated_in(file), {.cell = cell}, "a.st"), UserError) << config::name_of(cell);
    }
}

TEST(LayoutRefusals, TwoNamesThatKeras3WouldNotTellApart) {
  expect_refused(
      "tensors 'lstm/lstm_cell_1/kernel:0' and 'lstm/lstm_cell_2/kernel:0' are both 'lstm/lstm_cell/kernel'; "
      "leave one of them out",
      {{"lstm/lstm_cell_1/kernel:0", {3, 8}},
       {"lstm/lstm_cell_2/kernel:0", {3, 8}},
       {"lstm/lstm_cell_1/recurrent_kernel:0", {2, 8}}});
}

TEST(LayoutRefusals, TheCellsOfCudnnThatKeras2Had) {
  expect_refused(
      "got a 'cu_dnnlstm', expected lstm_cell, gru_cell or simple_rnn_cell",
      {{"cu_dnnlstm/kernel:0", {3, 8}}, {"cu_dnnlstm/recurrent_kernel:0", {2, 8}}, {"cu_dnnlstm/bias:0", {16}}});
}

}  // namespace
}  // namespace rnnlab
