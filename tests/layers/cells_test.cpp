// SPDX-License-Identifier: Apache-2.0
// Tests the records of the cells: their contents, and which layers have each cell.
#include "golden.h"
#include "layers/cells/cell.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "layers/recurrent_layer.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

// Returns texts such as "weight_ih (16, 3)", for a layer of 4 units that reads vectors of 3.
std::vector<std::string> parameters_with(RecurrentOptions options) {
  options.hidden_size = 4;
  std::vector<std::string> lines;
  for (const auto& [name, shape] : cell_parameters(options, 3))
    lines.push_back(fmt::format("{} ({})", name, fmt::join(shape, ", ")));
  return lines;
}

TEST(Cells, OfLibrariesHaveTheParametersOfTorchNn) {
  EXPECT_THAT(parameters_with({.cell = Cell::kLstm}),
              ElementsAre("weight_ih (16, 3)", "weight_hh (16, 4)", "bias_ih (16)", "bias_hh (16)"));
  EXPECT_THAT(parameters_with({.cell = Cell::kGru}),
              ElementsAre("weight_ih (12, 3)", "weight_hh (12, 4)", "bias_ih (12)", "bias_hh (12)"));
  EXPECT_THAT(parameters_with({.cell = Cell::kRnnRelu}),
              ElementsAre("weight_ih (4, 3)", "weight_hh (4, 4)", "bias_ih (4)", "bias_hh (4)"));
}

TEST(Cells, OfNaiveAloneHaveParametersOfTheirOwn) {
  EXPECT_THAT(parameters_with({.cell = Cell::kMinGru}), ElementsAre("weight_ih (8, 3)", "bias_ih (8)"));
  EXPECT_THAT(parameters_with({.cell = Cell::kMinLstm}), ElementsAre("weight_ih (12, 3)", "bias_ih (12)"));
  EXPECT_THAT(parameters_with({.cell = Cell::kLstmPeephole}),
              ElementsAre("weight_ih (16, 3)", "weight_hh (16, 4)", "bias_ih (16)", "bias_hh (16)", "peephole (12)"));
  EXPECT_THAT(parameters_with({.cell = Cell::kSlstm, .heads = 2}),
              ElementsAre("weight_ih (16, 3)", "weight_hh (16, 2)", "bias_ih (16)"));
}

TEST(Cells, BeginTheirStatesWithTheHiddenOne) {
  for (const auto& [cell, name] : config::EnumNames<Cell>::kNames) {
    EXPECT_EQ(info_of(cell).states.front(), "hidden") << name;
    EXPECT_FALSE(info_of(cell).description.empty()) << name;
  }
  EXPECT_THAT(info_of(Cell::kLstm).states, ElementsAre("hidden", "cell"));
  EXPECT_THAT(info_of(Cell::kGru).states, ElementsAre("hidden"));
  EXPECT_THAT(info_of(Cell::kSlstm).states, ElementsAre("hidden", "cell", "normalizer", "stabilizer"));
}

// Autograd alone would have no gradient for them, which neither a norm of all gradients nor an optimiser accepts.
TEST(Cells, HaveZerosAsGradientsOfWeightsThatOnlyConstantReads) {
  const CellText text = {.gates = {"n"},
                         .states = {"h", "c"},
                         .equations = "c = constant(n) + c\nh = tanh(c + constant(b))",
                         .vectors = {{"b", {}}}};
  for (const LayerKind kind : {LayerKind::kNaive, LayerKind::kHoisted})
    for (const size_t result : {0U, 1U, 2U}) {
      const auto layer = make_layer(kind, {.cell = own_cell(text).value(), .input_size = 2, .hidden_size = 3});
      const RecurrentResult results = layer->forward(at::randn({4, 2, 2}));
      const at::Tensor read[] = {results.output, results.state.hidden, results.state.inner[0]};
      read[result].sum().backward();
      for (const at::Tensor& weight : layer->parameters()) {
        ASSERT_TRUE(weight.grad().defined()) << config::name_of(kind) << result;
        EXPECT_EQ(weight.grad().abs().max().item<float>(), 0);
      }
    }
}

// The exponentials of these sums overflow float32, and those of their negatives round to 0.
TEST(Cells, StayFiniteWhereGatesAreFarFromZero) {
  for (const Cell cell : {Cell::kSlstm, Cell::kMinLstm})
    for (const double scale : {-1e4, 1e4}) {
      const auto layer = make_layer(LayerKind::kNaive, {.cell = cell, .input_size = 2, .hidden_size = 3});
      const at::Tensor input = at::full({6, 2, 2}, scale).requires_grad_();
      const RecurrentResult result = layer->forward(input);
      result.output.sum().backward();
      EXPECT_TRUE(result.output.isfinite().all().item<bool>()) << config::name_of(cell) << " " << scale;
      EXPECT_TRUE(input.grad().isfinite().all().item<bool>()) << config::name_of(cell) << " " << scale;
    }
}

TEST(Cells, TellWhichOptionsTheyDoNotRead) {
  EXPECT_TRUE(contradictions({.cell = Cell::kGru, .reset_gate = ResetGate::kBefore}).empty());
  const auto unread = contradictions({.cell = Cell::kRnnTanh, .num_layers = 2, .reset_gate = ResetGate::kBefore});
  ASSERT_EQ(unread.size(), 1U);
  EXPECT_THAT(unread[0].keys, ElementsAre("reset_gate", "cell"));
  expect_golden(unread[0].message);
}

TEST(Cells, HaveTheValuesOfTheOptionsThatTheyRead) {
  std::vector<std::string> used;
  for (const RecurrentOptions& options : unusual_options(Cell::kGru))
    for (const UsedOption& one : used_options(options)) used.push_back(fmt::format("{}: {}", one.key, one.value));
  EXPECT_THAT(used, ElementsAre("num_layers: 2", "bidirectional: true", "dropout: 0.5", "reset_gate: before",
                                "activation: relu"));
  EXPECT_TRUE(used_options({.cell = Cell::kGru, .input_size = 3, .hidden_size = 5, .batch_first = true}).empty());
}

}  // namespace
}  // namespace rnnlab
