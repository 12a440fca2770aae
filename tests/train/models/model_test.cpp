// SPDX-License-Identifier: Apache-2.0
#include "train/models/model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <cmath>

#include "base/expect_error.h"
#include "golden.h"
#include "train/models/small_models.h"

namespace rnnlab {
namespace {

ModelSettings settings_of_the_table() {
  ModelSettings settings;
  settings.cell = Cell::kGru;
  settings.hidden_size = 20;
  return settings;
}

const DataShape kImageRows = sequence_shape(Task::kClassification, 28, 10);

TEST(ParameterTable, ListsEveryParameterAndTheTotal) {
  expect_golden(parameter_table(*initialized_model(settings_of_the_table(), kImageRows)));
}

TEST(WeightsSha256, IsTheSameForEqualWeightsAndDiffersByOneBit) {
  const auto model = initialized_model(settings_of_the_table(), kImageRows);
  const auto digest = weights_sha256(*model);
  EXPECT_EQ(digest.size(), 64U);
  EXPECT_EQ(weights_sha256(*initialized_model(settings_of_the_table(), kImageRows, LayerKind::kFused)), digest);
  const at::NoGradGuard no_grad;
  auto bias = model->named_parameters()["output.bias"];
  bias[3] = std::nextafter(bias[3].item<float>(), 1.0F);
  EXPECT_NE(weights_sha256(*model), digest);
}

TEST(WeightsSha256, TellsParametersOfTheSameBytesApart) {
  auto settings = settings_of_the_table();
  settings.initialization = Initialization::kXavier;
  const auto ten = weights_sha256(*initialized_model(settings, kImageRows));
  const auto eleven = weights_sha256(*initialized_model(settings, sequence_shape(Task::kClassification, 28, 11)));
  EXPECT_NE(ten, eleven);
}

TEST(NumParameters, CountsElements) {
  EXPECT_EQ(num_parameters(*initialized_model(settings_of_the_table(), kImageRows)), 3210);
}

void expect_specs_of(const ModelSettings& settings, const DataShape& shape) {
  const auto model = make_model(settings, {LayerKind::kNaive}, shape);
  const auto parameters = model->named_parameters();
  const auto specs = parameter_specs(settings, shape);
  ASSERT_EQ(specs.size(), parameters.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(specs[i].name, parameters[i].key());
    EXPECT_EQ(specs[i].shape, parameters[i].value().sizes().vec()) << specs[i].name;
  }
  EXPECT_EQ(bytes_of(specs), 4 * num_parameters(*model));
}

TEST(ParameterSpecs, AreThoseOfTheModel) {
  ModelSettings sequences = settings_of_the_table();
  sequences.num_layers = 2;
  sequences.bidirectional = true;
  sequences.dense = {7, 5};
  expect_specs_of(sequences, kImageRows);
  ModelSettings parts = sequences;
  parts.front = {5, 4};
  parts.pooling = Pooling::kAttention;
  parts.decoder = true;
  DataShape forecast = kImageRows;
  parts.kind = ModelKind::kSequenceRegressor;
  forecast.task = Task::kRegression;
  forecast.num_outputs = 12;
  forecast.num_horizons = 3;
  forecast.num_ahead = 2;
  forecast.category_sizes = {3};
  expect_specs_of(parts, forecast);
  ModelSettings text;
  text.kind = ModelKind::kLanguageModel;
  text.hidden_size = 6;
  expect_specs_of(text, text_shape(9));
  text.tied = true;
  expect_specs_of(text, text_shape(9));
  ModelSettings images;
  images.kind = ModelKind::kImageClassifier;
  images.num_convolutions = 4;
  images.dense = {8};
  DataShape rows = kImageRows;
  rows.sequence_length = 13;
  expect_specs_of(images, rows);
}

TEST(ParameterSpecs, OfImagesBeyondEveryMemoryAreRefused) {
  ModelSettings images;
  images.kind = ModelKind::kImageClassifier;
  DataShape huge = kImageRows;
  huge.sequence_length = huge.input_size = int64_t{1} << 40;
  EXPECT_EQ(bytes_of(parameter_specs(images, huge)), std::numeric_limits<int64_t>::max());
  testing::expect_error(ExitCode::kUsage, [&] { make_model(images, {LayerKind::kNaive}, huge); });
}

ModelSettings settings_with(Initialization initialization, int64_t num_layers = 1) {
  ModelSettings settings;
  settings.hidden_size = 16;
  settings.num_layers = num_layers;
  settings.dense = {8};
  settings.initialization = initialization;
  return settings;
}

const DataShape kShape = sequence_shape(Task::kClassification, 4, 3);

double largest(const Model& model, const std::string& name) {
  return model.named_parameters()[name].abs().max().item<double>();
}

// The largest of so many uniform numbers is close to the bound.
void expect_uniform_within(double bound, const Model& model, const std::string& name) {
  EXPECT_LE(largest(model, name), bound) << name;
  EXPECT_GT(largest(model, name), 0.5 * bound) << name;
}

TEST(Initialize, DrawsAsPyTorchDoes) {
  const auto model = initialized_model(settings_with(Initialization::kPyTorch), kShape);
  for (const auto* name : {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"}) {
    expect_uniform_within(1.0 / 4.0, *model, std::string("recurrent.") + name);  // 1 / sqrt(16 hidden units)
  }
  expect_uniform_within(1.0 / 4.0, *model, "dense0.weight");  // 1 / sqrt(16 inputs)
  expect_uniform_within(1.0 / std::sqrt(8.0), *model, "output.weight");
  expect_uniform_within(1.0 / std::sqrt(8.0), *model, "output.bias");
}

TEST(Initialize, XavierHasUniformKernelsAndZeroBiases) {
  const auto model = initialized_model(settings_with(Initialization::kXavier), kShape);
  expect_uniform_within(std::sqrt(6.0 / (64 + 4)), *model, "recurrent.weight_ih_l0");  // four gates of 16, 4 inputs
  expect_uniform_within(std::sqrt(6.0 / (64 + 16)), *model, "recurrent.weight_hh_l0");
  expect_uniform_within(std::sqrt(6.0 / (16 + 8)), *model, "dense0.weight");
  for (const auto* name : {"recurrent.bias_ih_l0", "recurrent.bias_hh_l0", "dense0.bias", "output.bias"}) {
    EXPECT_EQ(largest(*model, name), 0.0) << name;
  }
}

TEST(Initialize, KerasHasOrthogonalRecurrentKernelsAndAnOpenForgetGate) {
  const auto model = initialized_model(settings_with(Initialization::kKeras), kShape);
  const auto parameters = model->named_parameters();
  const at::Tensor weight = parameters["recurrent.weight_hh_l0"].to(at::kDouble);
  EXPECT_LT((weight.t().mm(weight) - at::eye(16, at::kDouble)).abs().max().item<double>(), 1e-6);
  expect_uniform_within(std::sqrt(6.0 / (64 + 4)), *model, "recurrent.weight_ih_l0");
  const at::Tensor gates = parameters["recurrent.bias_ih_l0"].view({4, 16});  // i, f, g, o
  EXPECT_TRUE(gates[1].eq(1).all().item<bool>());
  EXPECT_EQ(gates.sum().item<double>(), 16);
  EXPECT_EQ(largest(*model, "recurrent.bias_hh_l0"), 0.0);
}

// A matrix of 40 columns takes more than one block.
TEST(Initialize, KerasMakesTheMatrixOfEachHeadOrthogonal) {
  ModelSettings settings = settings_with(Initialization::kKeras);
  settings.cell = Cell::kSlstm;
  settings.hidden_size = 80;
  settings.heads = 2;
  const auto model = initialized_model(settings, kShape, LayerKind::kNaive);
  const at::Tensor weight = model->named_parameters()["recurrent.weight_hh_l0"].to(at::kDouble).view({-1, 2, 40, 40});
  for (const int64_t head : {0, 1}) {
    const at::Tensor own = weight.select(1, head).reshape({-1, 40});
    EXPECT_LT((own.t().mm(own) - at::eye(40, at::kDouble)).abs().max().item<double>(), 1e-6);
  }
}

TEST(Initialize, KerasOpensNoGateOfOtherCells) {
  ModelSettings settings = settings_with(Initialization::kKeras);
  settings.cell = Cell::kGru;
  EXPECT_EQ(largest(*initialized_model(settings, kShape), "recurrent.bias_ih_l0"), 0.0);
}

TEST(Initialize, XavierLetsPeepholesStartAtZero) {
  ModelSettings settings = settings_with(Initialization::kXavier);
  settings.cell = Cell::kLstmPeephole;
  EXPECT_EQ(largest(*initialized_model(settings, kShape, LayerKind::kNaive), "recurrent.peephole_l0"), 0.0);
}

TEST(Initialize, AnEmbeddingIsStandardNormalButATiedEmbeddingIsDrawnAsADenseLayer) {
  ModelSettings settings;
  settings.kind = ModelKind::kLanguageModel;
  settings.hidden_size = 64;
  const auto untied = initialized_model(settings, text_shape(100));
  EXPECT_NEAR(untied->named_parameters()["embedding.weight"].std().item<double>(), 1.0, 0.05);
  settings.tied = true;
  const auto tied = initialized_model(settings, text_shape(100));
  expect_uniform_within(1.0 / 8.0, *tied, "output.weight");
}

TEST(Initialize, GivesEveryLayerKindTheSameWeights) {
  const auto settings = settings_with(Initialization::kPyTorch, 2);
  EXPECT_EQ(weights_sha256(*initialized_model(settings, kShape, LayerKind::kNaive)),
            weights_sha256(*initialized_model(settings, kShape, LayerKind::kFused)));
}

TEST(Initialize, OverwritesWhateverWasThere) {
  const auto model = initialized_model(settings_with(Initialization::kPyTorch), kShape);
  const auto before = weights_sha256(*model);
  initialize(*model, Initialization::kXavier, 2);
  initialize(*model, Initialization::kPyTorch, 1);
  EXPECT_EQ(weights_sha256(*model), before);
}

TEST(Initialize, DependsOnTheSeed) {
  const auto settings = settings_with(Initialization::kPyTorch);
  EXPECT_NE(weights_sha256(*initialized_model(settings, kShape, LayerKind::kNaive, 1)),
            weights_sha256(*initialized_model(settings, kShape, LayerKind::kNaive, 2)));
}

TEST(Initialize, AMoreLayeredModelSharesTheWeightsThatBothHave) {
  const auto one = initialized_model(settings_with(Initialization::kPyTorch, 1), kShape)->named_parameters();
  const auto two = initialized_model(settings_with(Initialization::kPyTorch, 2), kShape)->named_parameters();
  for (const auto& parameter : one) EXPECT_TRUE(at::equal(parameter.value(), two[parameter.key()])) << parameter.key();
}

TEST(Initialize, ParametersOfOneShapeDifferAmongThemselves) {
  const auto parameters = initialized_model(settings_with(Initialization::kPyTorch), kShape)->named_parameters();
  EXPECT_FALSE(at::equal(parameters["recurrent.bias_ih_l0"], parameters["recurrent.bias_hh_l0"]));
}

TEST(Initialize, IsTheSameOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const auto model = initialized_model(settings_with(Initialization::kPyTorch), kShape);
  const auto on_cpu = weights_sha256(*model);
  model->to(at::Device(at::kCUDA, 0));
  initialize(*model, Initialization::kPyTorch, 1);
  EXPECT_EQ(weights_sha256(*model), on_cpu);
}

}  // namespace
}  // namespace rnnlab
