// SPDX-License-Identifier: Apache-2.0
// Tests the interface: names and shapes of parameters, unsupported options, checks, copies, moves, dropout.
#include "layers/recurrent_layer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/cuda_functions.h"
#include "layers/layer_under_test.h"
#include "layers/refusals.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of(const RecurrentLayer& layer) { return layer.named_parameters().keys(); }

template <class Function>
std::string message_of(const Function& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class EveryKind : public ::testing::TestWithParam<LayerKind> {
 protected:
  // Returns whether this kind does not support the options. If it does not, making the layer must fail with the reason.
  static bool lacks(const RecurrentOptions& options) {
    const auto reason = refusal_of(GetParam(), options);
    if (reason) {
      EXPECT_EQ(message_of([&] { make_layer(GetParam(), options); }), *reason);
    }
    return reason.has_value();
  }
};
// A build without CUDA does not have `cudnn`.
std::vector<LayerKind> kinds_of_this_build() {
  std::vector<LayerKind> kinds = layer_kinds();
  if (!make_cudnn_layer.is_defined()) std::erase(kinds, LayerKind::kCudnn);
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(All, EveryKind, ::testing::ValuesIn(kinds_of_this_build()),
                         [](const auto& tested) { return std::string(config::name_of(tested.param)); });

// These kinds compute an LSTM here; scan_layer_test.cpp, cudnn_layer_test.cpp and persistent_layer_test.cpp test
// the others.
class EveryKindOnTheCpu : public EveryKind {};
INSTANTIATE_TEST_SUITE_P(All, EveryKindOnTheCpu, ::testing::ValuesIn([] {
                           auto kinds = layer_kinds();
                           std::erase(kinds, LayerKind::kCudnn);
                           std::erase(kinds, LayerKind::kScan);
                           std::erase_if(kinds, [](LayerKind kind) { return info_of(kind).compiles_kernels; });
                           return kinds;
                         }()),
                         [](const auto& tested) { return std::string(config::name_of(tested.param)); });

TEST_P(EveryKind, HasPyTorchsParameters) {
  const RecurrentOptions options = {.input_size = 3, .hidden_size = 4, .num_layers = 2, .bidirectional = true};
  if (lacks(options)) return;
  const auto layer = make_layer(GetParam(), options);
  EXPECT_THAT(names_of(*layer),
              ElementsAre("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_ih_l0_reverse",
                          "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse", "weight_ih_l1",
                          "weight_hh_l1", "bias_ih_l1", "bias_hh_l1", "weight_ih_l1_reverse", "weight_hh_l1_reverse",
                          "bias_ih_l1_reverse", "bias_hh_l1_reverse"));
  const auto parameters = layer->named_parameters();
  EXPECT_EQ(parameters["weight_ih_l0"].sizes(), at::IntArrayRef({16, 3}));
  EXPECT_EQ(parameters["weight_ih_l1"].sizes(), at::IntArrayRef({16, 8}));
  EXPECT_EQ(parameters["weight_hh_l1_reverse"].sizes(), at::IntArrayRef({16, 4}));
  EXPECT_EQ(parameters["bias_hh_l0"].sizes(), at::IntArrayRef({16}));
  EXPECT_EQ(layer->kind(), GetParam());
}

TEST_P(EveryKind, StacksAsManyRowsAsTheCellHasGates) {
  for (const auto& [cell, rows] :
       {std::pair(Cell::kLstm, 20), {Cell::kGru, 15}, {Cell::kRnnTanh, 5}, {Cell::kRnnRelu, 5}}) {
    const RecurrentOptions options = {.cell = cell, .input_size = 2, .hidden_size = 5};
    if (lacks(options)) continue;
    EXPECT_EQ(make_layer(GetParam(), options)->parameters()[0].size(0), rows);
  }
}

TEST_P(EveryKind, StartsUniformWithinOneOverTheRootOfTheHiddenSize) {
  const RecurrentOptions options = {.input_size = 30, .hidden_size = 25};
  if (lacks(options)) return;
  const auto layer = make_layer(GetParam(), options);
  for (const auto& parameter : layer->named_parameters()) {
    const double largest = parameter.value().abs().max().item<double>();
    EXPECT_LE(largest, 0.2) << parameter.key();
    EXPECT_GT(largest, 0.15) << parameter.key();
    EXPECT_TRUE(parameter.value().requires_grad()) << parameter.key();
  }
}

TEST_P(EveryKindOnTheCpu, GivesShapesOfItsOptions) {
  const RecurrentOptions options = {.cell = Cell::kGru,
                                    .input_size = 3,
                                    .hidden_size = 4,
                                    .num_layers = 2,
                                    .bidirectional = true,
                                    .batch_first = true};
  if (lacks(options)) return;
  const auto layer = make_layer(GetParam(), options);
  const RecurrentResult result = layer->forward(at::randn({5, 7, 3}));
  EXPECT_EQ(result.output.sizes(), at::IntArrayRef({5, 7, 8}));
  EXPECT_EQ(result.state.hidden.sizes(), at::IntArrayRef({4, 5, 4}));
  EXPECT_FALSE(result.state.cell().defined());
}

TEST_P(EveryKindOnTheCpu, ReadsNothingBeyondALength) {
  RecurrentOptions options = {.input_size = 2, .hidden_size = 3, .bidirectional = true};
  if (lacks(options)) options.bidirectional = false;
  const auto layer = make_layer(GetParam(), options);
  at::Tensor input = at::randn({4, 2, 2});
  const at::Tensor lengths = at::tensor({2, 4}, at::kLong);
  const RecurrentResult expected = layer->forward(input, {}, lengths);
  input.slice(0, 2).select(1, 0).fill_(1e6);
  const RecurrentResult result = layer->forward(input, {}, lengths);
  EXPECT_TRUE(at::equal(result.output, expected.output));
  EXPECT_TRUE(at::equal(result.state.cell(), expected.state.cell()));
  EXPECT_EQ(result.output.slice(0, 2).select(1, 0).abs().sum().item<double>(), 0);
}

TEST_P(EveryKindOnTheCpu, PadsToTheWholeInputIfEverySequenceIsShorter) {
  const auto layer = make_layer(GetParam(), {.input_size = 2, .hidden_size = 3});
  const auto result = layer->forward(at::randn({6, 2, 2}), {}, at::tensor({2, 3}, at::kLong));
  EXPECT_EQ(result.output.sizes(), at::IntArrayRef({6, 2, 3}));
}

TEST_P(EveryKindOnTheCpu, ContinuesFromItsOwnFinalState) {
  const auto layer = make_layer(GetParam(), {.input_size = 2, .hidden_size = 3, .num_layers = 2});
  const at::Tensor input = at::randn({6, 2, 2});
  const RecurrentResult whole = layer->forward(input);
  const RecurrentResult first = layer->forward(input.slice(0, 0, 4));
  const RecurrentResult second = layer->forward(input.slice(0, 4), first.state);
  EXPECT_TRUE(at::allclose(second.output, whole.output.slice(0, 4), 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(second.state.cell(), whole.state.cell(), 1e-5, 1e-6));
}

TEST_P(EveryKindOnTheCpu, ChecksWhatItIsGiven) {
  const auto layer = make_layer(GetParam(), {.input_size = 3, .hidden_size = 4});
  const at::Tensor input = at::randn({5, 2, 3});
  const auto error = [&](const at::Tensor& x, const RecurrentState& state = {}, const at::Tensor& lengths = {}) {
    return message_of([&] { layer->forward(x, state, lengths); });
  };
  EXPECT_THAT(error({}), HasSubstr("the input is undefined"));
  EXPECT_THAT(error(at::randn({5, 2, 4})), HasSubstr("(5, 2, 4)"));
  EXPECT_THAT(error(at::randn({5, 3})), HasSubstr("(5, 3)"));
  EXPECT_THAT(error(at::randn({0, 2, 3})), HasSubstr("(0, 2, 3)"));
  EXPECT_THAT(error(input.to(at::kDouble)), HasSubstr("Double"));
  EXPECT_THAT(error(input, {at::zeros({1, 3, 4}), {}}), HasSubstr("hidden state is (1, 3, 4)"));
  EXPECT_THAT(error(input, {{}, at::zeros({2, 2, 4})}), HasSubstr("cell state is (2, 2, 4)"));
  EXPECT_THAT(error(input, {}, at::tensor({5, 0}, at::kLong)), HasSubstr("lengths[1] is 0"));
  EXPECT_THAT(error(input, {}, at::tensor({6, 1}, at::kLong)), HasSubstr("lengths[0] is 6"));
  EXPECT_THAT(error(input, {}, at::tensor({5}, at::kLong)), HasSubstr("lengths are (1) Long"));
  EXPECT_THAT(error(input, {}, at::tensor({5, 1}, at::kInt)), HasSubstr("lengths are (2) Int"));
}

TEST_P(EveryKindOnTheCpu, RejectsACellStateIfTheCellHasNone) {
  const RecurrentOptions options = {.cell = Cell::kGru, .input_size = 3, .hidden_size = 4};
  if (lacks(options)) return;
  const auto layer = make_layer(GetParam(), options);
  EXPECT_THROW(layer->forward(at::randn({5, 2, 3}), {{}, at::zeros({1, 2, 4})}), InvariantError);
}

TEST_P(EveryKindOnTheCpu, TakesEitherHalfOfAnLstmState) {
  const auto layer = make_layer(GetParam(), {.input_size = 3, .hidden_size = 4});
  const at::Tensor input = at::randn({5, 2, 3}), zeros = at::zeros({1, 2, 4}), given = at::randn({1, 2, 4});
  EXPECT_TRUE(at::equal(layer->forward(input, {given, {}}).output, layer->forward(input, {given, zeros}).output));
  EXPECT_TRUE(at::equal(layer->forward(input, {{}, given}).output, layer->forward(input, {zeros, given}).output));
}

TEST_P(EveryKindOnTheCpu, MovesToAnotherTypeAndBackWithinAModel) {
  const auto layer = make_layer(GetParam(), {.input_size = 3, .hidden_size = 4});
  torch::nn::Module model;
  model.register_module("layer", layer);
  model.to(at::kDouble);
  const RecurrentResult result = layer->forward(at::randn({5, 2, 3}, at::kDouble));
  EXPECT_EQ(result.output.scalar_type(), at::kDouble);
  EXPECT_EQ(result.state.cell().scalar_type(), at::kDouble);
  model.to(at::kFloat);
  EXPECT_EQ(layer->forward(at::randn({5, 2, 3})).output.scalar_type(), at::kFloat);
}

// An optimiser holds the parameters that the module lists, so these parameters must receive gradients, also after a
// move.
TEST_P(EveryKindOnTheCpu, TrainsTheParametersThatItLists) {
  const auto layer = make_layer(GetParam(), {.input_size = 3, .hidden_size = 4});
  layer->to(at::kDouble);
  const auto parameters = layer->parameters();
  layer->forward(at::randn({5, 2, 3}, at::kDouble)).output.sum().backward();
  for (const at::Tensor& parameter : parameters) EXPECT_GT(parameter.grad().abs().sum().item<double>(), 0);
  const at::Tensor input = at::randn({5, 2, 3}, at::kDouble);
  const at::Tensor before = layer->forward(input).output;
  {
    const at::AutoGradMode no_gradient(false);
    for (const at::Tensor& parameter : parameters) parameter.sub_(0.1);
  }
  EXPECT_FALSE(at::allclose(layer->forward(input).output, before));
}

// With identity weights and without recurrence, relu layers return their input, so the output for ones is the mask.
RecurrentOptions mask_options(int64_t num_layers) {
  return {.cell = Cell::kRnnRelu, .input_size = 32, .hidden_size = 32, .num_layers = num_layers, .dropout = 0.25};
}

std::shared_ptr<RecurrentLayer> mask_layer(LayerKind kind, int64_t num_layers) {
  const auto layer = make_layer(kind, mask_options(num_layers));
  const at::AutoGradMode no_gradient(false);
  for (auto& parameter : layer->named_parameters())
    if (parameter.key().starts_with("weight_ih"))
      parameter.value().copy_(at::eye(32));
    else
      parameter.value().zero_();
  return layer;
}

TEST_P(EveryKindOnTheCpu, DropsOutBetweenLayersInTrainingOnly) {
  if (lacks(mask_options(2))) return;
  const auto layer = mask_layer(GetParam(), 2);
  const at::Tensor ones = at::ones({20, 10, 32});
  const at::Tensor mask = layer->forward(ones).output;
  const at::Tensor kept = mask > 0;
  EXPECT_TRUE(at::allclose(mask.masked_select(kept), at::full({1}, 1 / 0.75))) << "kept values are scaled up";
  // 6400 draws: one standard deviation is .0054.
  EXPECT_NEAR(kept.to(at::kFloat).mean().item<double>(), 0.75, 0.03);
  EXPECT_FALSE(at::equal(kept[0], kept[1])) << "every step has its own mask";
  EXPECT_FALSE(at::equal(mask, layer->forward(ones).output)) << "every call has its own mask";
  layer->eval();
  EXPECT_TRUE(at::equal(layer->forward(ones).output, ones));
  layer->train();
  EXPECT_FALSE(at::equal(layer->forward(ones).output, ones));
}

TEST_P(EveryKindOnTheCpu, DropsOutNothingAfterTheLastLayer) {
  if (lacks(mask_options(1))) return;
  const at::Tensor ones = at::ones({20, 10, 32});
  EXPECT_TRUE(at::equal(mask_layer(GetParam(), 1)->forward(ones).output, ones));
}

TEST(CopyWeights, NamesWhatDoesNotFitAndCopiesNothing) {
  const auto to = make_layer(LayerKind::kFused, {.input_size = 3, .hidden_size = 4});
  const at::Tensor before = to->parameters()[0].clone();
  const auto error = [&](const RecurrentOptions& options) {
    return message_of([&] { copy_weights(*make_layer(LayerKind::kNaive, options), *to); });
  };
  EXPECT_THAT(error({.input_size = 3, .hidden_size = 5}), HasSubstr("weight_ih_l0 is (20, 3)"));
  EXPECT_THAT(error({.input_size = 3, .hidden_size = 4, .num_layers = 2}), HasSubstr("weight_ih_l1"));
  const auto two_ways = make_layer(LayerKind::kNaive, {.input_size = 3, .hidden_size = 4, .bidirectional = true});
  EXPECT_THAT(message_of([&] { copy_weights(*to, *two_ways); }), HasSubstr("weight_ih_l0_reverse"));
  EXPECT_TRUE(at::equal(to->parameters()[0], before));
}

TEST(CopyWeights, ConvertsTheType) {
  const auto from = make_layer(LayerKind::kNaive, {.input_size = 3, .hidden_size = 4});
  const auto to = make_layer(LayerKind::kFused, {.input_size = 3, .hidden_size = 4});
  to->to(at::kDouble);
  copy_weights(*from, *to);
  EXPECT_TRUE(at::equal(to->parameters()[1], from->parameters()[1].to(at::kDouble)));
}

TEST(RecurrentOptions, OutOfRangeBreakAnInvariant) {
  for (const RecurrentOptions& options : {RecurrentOptions{.input_size = 0}, RecurrentOptions{.hidden_size = -1},
                                          RecurrentOptions{.num_layers = 0}, RecurrentOptions{.dropout = 1}})
    EXPECT_THROW(make_layer(LayerKind::kNaive, options), InvariantError);
}

}  // namespace
}  // namespace rnnlab
