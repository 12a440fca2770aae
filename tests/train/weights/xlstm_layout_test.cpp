// SPDX-License-Identifier: Apache-2.0
// Tests the layout of the package xlstm with small tensors whose values name their place, and with weights and outputs
// of the package, which xlstm_test.py writes.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "base/expect_error.h"
#include "layers/recurrent_layer.h"
#include "train/weights/layouts.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

constexpr int64_t kHeads = 3, kGates = 4, kSize = 2;
constexpr int64_t kUnits = kHeads * kSize, kRows = kGates * kUnits;

TensorFile xlstm_file(const std::vector<NamedTensor>& tensors, const TensorMetadata& metadata = {}) {
  return {.name = "a.st", .tensors = views_of(tensors), .metadata = metadata, .bytes = nullptr};
}

NetworkWeights read_xlstm(const std::vector<NamedTensor>& tensors, const TensorMetadata& metadata = {}) {
  const TensorFile file = xlstm_file(tensors, metadata);
  EXPECT_EQ(layout_of(file), Layout::kXlstm);
  return read_network(file, Layout::kXlstm);
}

void expect_xlstm_refused(const std::string& message, const std::vector<NamedTensor>& tensors,
                          const TensorMetadata& metadata = {}) {
  expect_error(ExitCode::kCheckpoint, "a.st: " + message, [&] { read_xlstm(tensors, metadata); });
}

// (heads, gates, outputs, inputs): the value has the digits head, gate, output and input, each from 1 on.
at::Tensor numbered_kernel() {
  at::Tensor kernel = at::empty({kHeads, kGates, kSize, kSize});
  for (int64_t i = 0; i < kernel.numel(); ++i) {
    const int64_t in = i % kSize, out = i / kSize % kSize, gate = i / (kSize * kSize) % kGates;
    const int64_t head = i / (kSize * kSize * kGates);
    kernel.view(-1)[i] = static_cast<double>(1111 + 1000 * head + 100 * gate + 10 * out + in);
  }
  return kernel;
}

at::Tensor numbered_bias() { return numbered_kernel().select(3, 0).contiguous(); }  // (heads, gates, outputs)

std::vector<NamedTensor> vanilla(const std::string& prefix = "") {
  return {{prefix + "_recurrent_kernel_", numbered_kernel().reshape({kHeads, kGates * kSize, kSize})},
          {prefix + "_bias_", numbered_bias().transpose(0, 1).reshape({-1})}};
}

std::vector<NamedTensor> cuda() {
  return {{"_recurrent_kernel_",
           numbered_kernel().permute({0, 3, 1, 2}).reshape({kHeads, kSize, kGates * kSize}).contiguous()},
          {"_bias_", numbered_bias().reshape({-1})}};
}

std::vector<NamedTensor> proxies() {
  return {{"_recurrent_kernel_", numbered_kernel().permute({0, 3, 1, 2}).contiguous()}, {"_bias_", numbered_bias()}};
}

// A layer whose gate weights have the digits of their place in xlstm: module from 1 on, head, output, input.
std::vector<NamedTensor> xlstm_layer(const std::string& prefix = "") {
  std::vector<NamedTensor> tensors = vanilla(prefix + "slstm_cell.");
  int64_t module = 0;
  for (const char* name : {"igate", "fgate", "zgate", "ogate"}) {
    const at::Tensor of_first_gate = numbered_kernel().select(1, 0) % 1000 - 100;  // digits output, input
    at::Tensor weight = of_first_gate + static_cast<double>(1000 * ++module);
    for (int64_t head = 0; head < kHeads; ++head) weight[head] += static_cast<double>(100 * (head + 1));
    tensors.push_back({prefix + name + ".weight", weight});
  }
  return tensors;
}

float at_place(const at::Tensor& tensor, int64_t row, int64_t column) { return tensor[row][column].item<float>(); }

TEST(XlstmLayout, HasItsGatesApartAndItsHeadsWithinAGate) {
  const NetworkWeights network = read_xlstm(vanilla());
  EXPECT_EQ(network.options.cell, Cell::kSlstm);
  EXPECT_EQ(network.options.heads, kHeads);
  EXPECT_EQ(network.options.hidden_size, kUnits);
  const DirectionWeights& weights = network.recurrent.front();
  ASSERT_THAT(weights.weight_hh.sizes(), ElementsAre(kRows, kSize));
  EXPECT_EQ(at_place(weights.weight_hh, 0, 1), 1112) << "head 1, gate i, output 1, input 2";
  EXPECT_EQ(at_place(weights.weight_hh, 3, 0), 2121) << "head 2, gate i, output 2, input 1";
  EXPECT_EQ(at_place(weights.weight_hh, kUnits, 0), 1211) << "head 1, gate f";
  EXPECT_EQ(at_place(weights.weight_hh, kRows - 1, 1), 3422) << "head 3, gate o, output 2, input 2";
  EXPECT_EQ(weights.bias_ih[kUnits + 2].item<float>(), 2211) << "head 2, gate f, output 1";
  EXPECT_FALSE(weights.bias_hh.defined());
}

TEST(XlstmLayout, IsTheSameForBothBackendsAndTheProxies) {
  const DirectionWeights of_vanilla = read_xlstm(vanilla()).recurrent.front();
  for (const std::vector<NamedTensor>& tensors : {cuda(), proxies()}) {
    const DirectionWeights weights = read_xlstm(tensors).recurrent.front();
    EXPECT_TRUE(at::equal(weights.weight_hh, of_vanilla.weight_hh));
    EXPECT_TRUE(at::equal(weights.bias_ih, of_vanilla.bias_ih));
  }
}

TEST(XlstmLayout, ACellAloneAddsItsInputsToTheGates) {
  const NetworkWeights network = read_xlstm(vanilla("slstm_cell."));
  EXPECT_EQ(network.options.input_size, kRows);
  EXPECT_TRUE(at::equal(network.recurrent.front().weight_ih, at::eye(kRows)));
}

// The layer of the package gives the input gate the outputs of `fgate`, and the forget gate those of `igate`.
TEST(XlstmLayout, ALayersGatesAreBlocksAndItsFirstTwoAreExchanged) {
  const NetworkWeights network = read_xlstm(xlstm_layer("xlstm."));
  EXPECT_EQ(network.options.input_size, kUnits);
  const at::Tensor& weight_ih = network.recurrent.front().weight_ih;
  ASSERT_THAT(weight_ih.sizes(), ElementsAre(kRows, kUnits));
  EXPECT_EQ(at_place(weight_ih, 0, 1), 2112) << "gate i: fgate, head 1, output 1, input 2";
  EXPECT_EQ(at_place(weight_ih, kUnits + 2, 3), 1212) << "gate f: igate, head 2, output 1, input 2";
  EXPECT_EQ(at_place(weight_ih, 2 * kUnits, 0), 3111) << "gate z";
  EXPECT_EQ(at_place(weight_ih, kRows - 1, kUnits - 1), 4322) << "gate o";
  EXPECT_EQ(at_place(weight_ih, 0, 2), 0) << "head 1 reads no inputs of head 2";
}

TEST(XlstmLayout, GoesOutInPyTorchsLayoutAlone) {
  const NetworkWeights network = read_xlstm(xlstm_layer());
  std::vector<std::string> names;
  for (const NamedTensor& tensor : export_tensors(network, Layout::kPyTorch)) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("weight_ih_l0", "weight_hh_l0", "bias_ih_l0"));
  expect_error(ExitCode::kUsage, [&] { export_tensors(network, Layout::kKeras); });
  expect_error(ExitCode::kUsage, [&] { export_tensors(network, Layout::kXlstm); });
}

TEST(XlstmLayout, RefusesWhatTheLayerAroundTheCellComputes) {
  const auto refused = [](const std::string& name, const std::string& message) {
    std::vector<NamedTensor> tensors = xlstm_layer();
    tensors.push_back({name, at::zeros({kUnits})});
    expect_xlstm_refused("tensor '" + name + "' " + message, tensors);
  };
  refused("conv1d.conv.weight",
          "is a convolution before the input and forget gates, which cell: slstm does not have; train with "
          "conv1d_kernel_size=0, or save slstm_cell.state_dict() alone");
  refused("group_norm.weight",
          "normalizes the layer's outputs, which cell: slstm does not do; leave it out of the file to load the layer "
          "without its norm");
  refused("ffn.proj_up.weight",
          "belongs to the block around the layer; save the state_dict() of the block's xlstm alone");
}

TEST(XlstmLayout, RefusesSeveralCells) {
  std::vector<NamedTensor> tensors = vanilla("blocks.0.");
  for (const NamedTensor& tensor : vanilla("blocks.1.")) tensors.push_back(tensor);
  expect_xlstm_refused(
      "has 2 cells, such as 'blocks.0.' and 'blocks.1.', and a model of xlstm computes more between them; save one "
      "cell's or layer's state_dict() alone",
      tensors);
}

TEST(XlstmLayout, RefusesOtherSizesAndFunctions) {
  const std::string expected =
      ", expected [heads, 4 * D, D], [heads, D, 4 * D] or [heads, D, 4, D] for heads of D units and 4 gates";
  expect_xlstm_refused("tensor '_recurrent_kernel_' has shape [3, 6, 2]" + expected,
                       {{"_recurrent_kernel_", at::zeros({3, 6, 2})}});
  expect_xlstm_refused("tensor '_recurrent_kernel_' has shape [8, 2]" + expected,
                       {{"_recurrent_kernel_", at::zeros({8, 2})}});
  expect_xlstm_refused("tensor '_bias_' is missing, expected F32 [24]", {vanilla().front()});
  std::vector<NamedTensor> tensors = xlstm_layer();
  tensors.back().tensor = at::zeros({kHeads + 1, kSize, kSize});
  expect_xlstm_refused("tensor 'ogate.weight' is F32 [4, 2, 2], expected F32 [3, 2, 2]", tensors);
  expect_xlstm_refused(
      "metadata xlstm.function: got 'lstm', expected slstm; rnnlab has no other function of xlstm's cell", vanilla(),
      {{"xlstm.function", "lstm"}});
  expect_xlstm_refused("metadata rnnlab.cell: got lstm, but the tensors are those of slstm", vanilla(),
                       {{"rnnlab.cell", "lstm"}});
}

// The files are of a layer, saved by the backend `vanilla`, and of a cell alone, saved by `cuda`.
TEST(XlstmLayout, ALayerOfRnnlabGivesTheOutputsOfThePackage) {
  const at::NoGradGuard no_grad;
  for (const std::string name : {"xlstm_layer", "xlstm_cell"}) {
    const TensorFile golden = read_safetensors(RNNLAB_SOURCE_DIR "/tests/train/weights/data/" + name + ".safetensors");
    TensorFile weights = golden;
    std::erase_if(weights.tensors, [](const TensorView& view) { return view.spec.name.starts_with("golden."); });
    const NetworkWeights network = read_network(weights, layout_of(weights).value());
    const auto layer = make_layer(LayerKind::kNaive, network.options);
    for (const NamedTensor& tensor : export_tensors(network, Layout::kPyTorch))
      layer->named_parameters()[tensor.name].copy_(tensor.tensor);
    const at::Tensor inputs = to_tensor(*golden.find("golden.inputs")).tensor;    // (N, T, F)
    const at::Tensor outputs = to_tensor(*golden.find("golden.outputs")).tensor;  // (N, T, H)
    const at::Tensor computed = layer->forward(inputs.transpose(0, 1).contiguous()).output.transpose(0, 1);
    EXPECT_LT((computed - outputs).abs().max().item<double>(), 1e-6) << name;
    EXPECT_GT(outputs.abs().max().item<double>(), 0.1) << "outputs near zero would not prove anything";
  }
}

TEST(XlstmLayout, RefusesASmallFileOfAHugeMatrix) {
  expect_xlstm_refused(
      "as a full matrix the input weights would have 40000 rows and 40000 columns, more than 268435456 values; use "
      "fewer units",
      {{"_recurrent_kernel_", at::zeros({10000, 4, 1})}, {"_bias_", at::zeros({40000})}});
}

}  // namespace
}  // namespace rnnlab
