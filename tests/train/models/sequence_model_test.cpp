// SPDX-License-Identifier: Apache-2.0
#include "train/models/sequence_model.h"

#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/cuda.h>

#include "base/error.h"
#include "golden.h"
#include "train/models/operations.h"
#include "train/models/small_models.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

ModelSettings small_settings() {
  ModelSettings settings;
  settings.hidden_size = 5;
  return settings;
}

RecurrentLayer& recurrent_of(const Model& model) {
  return *std::dynamic_pointer_cast<RecurrentLayer>(model.named_children()["recurrent"]);
}

at::Tensor through(const Model& model, const std::string& layer, const at::Tensor& values) {
  const auto parameters = model.named_parameters();
  return at::linear(values, parameters[layer + ".weight"], parameters[layer + ".bias"]);
}

std::vector<std::string> parameter_names(const Model& model) { return model.named_parameters().keys(); }

TEST(SequenceModel, MnistRowsHasTheParametersOfItsPyTorchTwin) {
  ModelSettings settings;
  settings.num_layers = 2;
  settings.dropout = 0.2;
  settings.output_dropout = 0.1;
  settings.dense = {32};
  settings.dense_dropout = 0.2;
  const auto model = initialized_model(settings, sequence_shape(Task::kClassification, 28, 10));
  EXPECT_THAT(
      parameter_names(*model),
      ElementsAre("recurrent.weight_ih_l0", "recurrent.weight_hh_l0", "recurrent.bias_ih_l0", "recurrent.bias_hh_l0",
                  "recurrent.weight_ih_l1", "recurrent.weight_hh_l1", "recurrent.bias_ih_l1", "recurrent.bias_hh_l1",
                  "dense0.weight", "dense0.bias", "output.weight", "output.bias"));
  EXPECT_THAT(model->forward(batch_of(seeded_randn({28, 4, 28}))).sizes(), ElementsAre(4, 10));
}

TEST(SequenceModel, HasAnOutputForEachStepIfEachStepHasATarget) {
  for (const bool bidirectional : {false, true}) {
    ModelSettings settings = small_settings();
    settings.bidirectional = bidirectional;
    settings.dense = {4};
    DataShape shape = sequence_shape(Task::kClassification, 3, 2);
    shape.target_per_step = true;
    const auto model = initialized_model(settings, shape);
    const at::Tensor inputs = seeded_randn({6, 4, 3});
    const auto dense = at::relu(through(*model, "dense0", recurrent_of(*model).forward(inputs).output));
    EXPECT_TRUE(at::allclose(model->forward(batch_of(inputs)), through(*model, "output", dense), 1e-6, 1e-6));
  }
}

TEST(SequenceModel, ReadsCategoriesAsVectorsThatItLearns) {
  ModelSettings settings = small_settings();
  settings.embedding_size = 2;
  DataShape shape = sequence_shape(Task::kClassification, 3, 2);
  shape.category_sizes = {4};
  const auto model = initialized_model(settings, shape);
  const auto parameters = model->named_parameters();
  EXPECT_EQ(parameter_specs(settings, shape).size(), parameters.size());
  EXPECT_THAT(parameters["category0.weight"].sizes(), ElementsAre(4, 2));
  EXPECT_THAT(parameters["recurrent.weight_ih_l0"].sizes(), ElementsAre(20, 4)) << "two numbers and a vector of two";

  const at::Tensor numbers = seeded_randn({3, 2, 2});
  const at::Tensor values = at::tensor({1, 3, 0, 1, 1, 0}, at::kLong).view({3, 2});
  const at::Tensor inputs = at::cat({numbers, values.to(at::kFloat).unsqueeze(2)}, 2);
  at::Tensor vectors = at::embedding(parameters["category0.weight"], values).clone();
  vectors.index_put_({values.eq(0)}, at::zeros({2}));
  const auto hidden = recurrent_of(*model).forward(at::cat({numbers, vectors}, 2)).output[-1];
  const auto expected = through(*model, "output", hidden);
  const auto output = model->forward(batch_of(inputs));
  EXPECT_TRUE(at::allclose(output, expected, 1e-6, 1e-6));

  output.square().sum().backward();
  const auto learns = parameters["category0.weight"].grad().abs().sum(1).gt(0);
  EXPECT_TRUE(at::equal(learns, at::tensor({0, 1, 0, 1}, at::kLong).to(at::kBool))) << "0 is unknown, 2 does not occur";
}

TEST(SequenceModel, ReadsEachColumnOfCategoriesWithItsOwnVectors) {
  DataShape shape = sequence_shape(Task::kClassification, 3, 2);
  shape.category_sizes = {4, 6};
  const auto model = initialized_model(small_settings(), shape);
  const auto parameters = model->named_parameters();
  const at::Tensor numbers = seeded_randn({2, 1, 1});
  const at::Tensor first = at::tensor({1, 3}, at::kLong).view({2, 1}),
                   second = at::tensor({5, 2}, at::kLong).view({2, 1});
  const at::Tensor vectors = at::cat({numbers, at::embedding(parameters["category0.weight"], first),
                                      at::embedding(parameters["category1.weight"], second)},
                                     2);
  const auto expected = through(*model, "output", recurrent_of(*model).forward(vectors).output[-1]);
  const at::Tensor inputs =
      at::cat({numbers, first.to(at::kFloat).unsqueeze(2), second.to(at::kFloat).unsqueeze(2)}, 2);
  EXPECT_TRUE(at::allclose(model->forward(batch_of(inputs)), expected, 1e-6, 1e-6));
}

TEST(SequenceModel, GivesACategoryAVectorOfHalfItsValues) {
  EXPECT_EQ(category_vector_size({}, 3), 2);
  EXPECT_EQ(category_vector_size({}, 20), 10);
  EXPECT_EQ(category_vector_size({}, 100'000), 50);
}

TEST(SequenceModel, DropsInTrainingOnly) {
  auto settings = small_settings();
  settings.output_dropout = 0.5;
  settings.dense = {64};
  settings.dense_dropout = 0.5;
  const auto model = initialized_model(settings, sequence_shape(Task::kClassification, 3, 2));
  const auto batch = batch_of(seeded_randn({4, 8, 3}));
  EXPECT_FALSE(at::equal(model->forward(batch), model->forward(batch)));
  model->eval();
  EXPECT_TRUE(at::equal(model->forward(batch), model->forward(batch)));
}

void expect_the_same_on_a_gpu(const ModelSettings& settings, const DataShape& shape, const at::Tensor& lengths = {}) {
  const auto here = initialized_model(settings, shape), there = initialized_model(settings, shape);
  there->to(at::kCUDA);
  const at::Tensor inputs = seeded_randn({4, 8, 3});
  const at::Tensor expected = here->forward(batch_of(inputs, lengths));
  const at::Tensor got = there->forward(batch_of(inputs.cuda(), lengths));
  EXPECT_TRUE(at::allclose(got.cpu(), expected, 1e-4, 1e-5));
  expected.square().sum().backward();
  got.square().sum().backward();
  for (const auto& parameter : here->named_parameters())
    EXPECT_TRUE(
        at::allclose(there->named_parameters()[parameter.key()].grad().cpu(), parameter.value().grad(), 1e-3, 1e-5))
        << parameter.key();
}

TEST(SequenceModel, GivesOnAGpuWhatItGivesOnTheCpuThroughItsDenseEnd) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  auto settings = small_settings();
  settings.dense = {64, 32};
  settings.dense_activation = Activation::kRelu;
  expect_the_same_on_a_gpu(settings, sequence_shape(Task::kClassification, 3, 10));
}

TEST(SequenceModel, GivesOnAGpuWhatItGivesOnTheCpuThroughItsOutputLayer) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const at::Tensor lengths = at::tensor({4, 1, 3, 4, 2, 4, 4, 1}, at::kLong);
  for (const int64_t num_layers : {1, 2})
    for (const bool bidirectional : {false, true})
      for (const int64_t num_outputs : {1, 10}) {
        auto settings = small_settings();
        settings.num_layers = num_layers;
        settings.bidirectional = bidirectional;
        expect_the_same_on_a_gpu(settings, sequence_shape(Task::kBinary, 3, num_outputs));
        expect_the_same_on_a_gpu(settings, sequence_shape(Task::kBinary, 3, num_outputs), lengths);
      }
}

TEST(SequenceModel, GivesOnAGpuWhatItGivesOnTheCpuAtEachStep) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  auto shape = sequence_shape(Task::kClassification, 3, 10);
  shape.target_per_step = true;
  expect_the_same_on_a_gpu(small_settings(), shape);
}

TEST(SequenceModel, LastIsTheOutputAfterTheLastStepThroughTheHead) {
  auto settings = small_settings();
  settings.dense = {4};
  const auto model = initialized_model(settings, sequence_shape(Task::kClassification, 3, 2));
  const auto batch = batch_of(seeded_randn({6, 4, 3}));
  const auto hidden = at::relu(through(*model, "dense0", recurrent_of(*model).forward(batch.inputs).output[5]));
  EXPECT_TRUE(at::allclose(model->forward(batch), through(*model, "output", hidden), 1e-6, 1e-6));
}

// Each sequence without padding must give the same result as in a padded batch.
void expect_padding_has_no_influence(const ModelSettings& settings, LayerKind layer) {
  const at::NoGradGuard no_grad;
  const auto model = initialized_model(settings, sequence_shape(Task::kClassification, 3, 2), layer);
  const auto inputs = seeded_randn({6, 3, 3});
  const auto lengths = at::tensor({2, 6, 4}, at::kLong);
  const auto together = model->forward(batch_of(inputs, lengths));
  for (int64_t i = 0; i < 3; ++i) {
    const auto alone = inputs.narrow(1, i, 1).narrow(0, 0, lengths[i].item<int64_t>()).contiguous();
    EXPECT_TRUE(at::allclose(together[i], model->forward(batch_of(alone))[0], 1e-5, 1e-6)) << "sequence " << i;
  }
}

TEST(SequenceModel, PaddingHasNoInfluence) {
  for (const auto layer : {LayerKind::kNaive, LayerKind::kFused}) {
    for (const auto pooling : {Pooling::kLast, Pooling::kMean}) {
      for (const bool bidirectional : {false, true}) {
        auto settings = small_settings();
        settings.pooling = pooling;
        settings.bidirectional = bidirectional;
        for (settings.num_layers = 1; settings.num_layers <= 2; ++settings.num_layers)
          expect_padding_has_no_influence(settings, layer);
      }
    }
  }
}

TEST(SequenceModel, BidirectionalLastJoinsTheFinalStatesOfBothDirections) {
  auto settings = small_settings();
  settings.bidirectional = true;
  const auto model = initialized_model(settings, sequence_shape(Task::kClassification, 3, 2));
  const auto batch = batch_of(seeded_randn({6, 4, 3}));
  const auto output = recurrent_of(*model).forward(batch.inputs).output;
  const auto joined = at::cat({output[5].narrow(1, 0, 5), output[0].narrow(1, 5, 5)}, 1);
  EXPECT_TRUE(at::allclose(model->forward(batch), through(*model, "output", joined), 1e-6, 1e-6));
}

TEST(MeanOverSteps, CountsEachSequencesJitSteps) {
  const auto outputs =
      at::tensor({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 0.0F}).view({3, 2, 1});  // the second ends after two steps
  EXPECT_TRUE(
      at::allclose(mean_over_steps(outputs, at::tensor({3, 2}, at::kLong)).flatten(), at::tensor({3.0F, 3.0F})));
  EXPECT_TRUE(at::allclose(mean_over_steps(outputs, {}).flatten(), at::tensor({3.0F, 2.0F})));
}

TEST(SequenceModel, ARegressorIsTheSameNetwork) {
  auto settings = small_settings();
  const auto classifier = initialized_model(settings, sequence_shape(Task::kClassification, 3, 2));
  settings.kind = ModelKind::kSequenceRegressor;
  const auto regressor = initialized_model(settings, sequence_shape(Task::kRegression, 3, 2));
  const auto batch = batch_of(seeded_randn({6, 4, 3}));
  EXPECT_TRUE(at::equal(classifier->forward(batch), regressor->forward(batch)));
}

TEST(SequenceModel, NaiveAndFusedAgreeFromTheSameSeed) {
  const auto shape = sequence_shape(Task::kClassification, 3, 2);
  const auto batch = batch_of(seeded_randn({6, 4, 3}));
  const auto naive = initialized_model(small_settings(), shape, LayerKind::kNaive)->forward(batch);
  const auto fused = initialized_model(small_settings(), shape, LayerKind::kFused)->forward(batch);
  EXPECT_TRUE(at::allclose(naive, fused, 1e-5, 1e-6));
}

std::string error_of_making(const ModelSettings& settings, const DataShape& shape,
                            LayerKind layer = LayerKind::kNaive) {
  try {
    make_model(settings, layer, shape);
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(MakeModel, SaysWhichKindFitsTheData) {
  auto settings = small_settings();
  expect_golden(error_of_making(settings, text_shape(65)));
  expect_golden(error_of_making(settings, sequence_shape(Task::kRegression, 3, 2)));
  settings.kind = ModelKind::kLanguageModel;
  expect_golden(error_of_making(settings, sequence_shape(Task::kClassification, 3, 10)));
}

TEST(MakeModel, RefusesWhatTheLayerCannotDo) {
  auto settings = small_settings();
  settings.activation = Activation::kRelu;
  EXPECT_NE(error_of_making(settings, sequence_shape(Task::kClassification, 3, 2), LayerKind::kFused), "no error");
  EXPECT_EQ(error_of_making(settings, sequence_shape(Task::kClassification, 3, 2), LayerKind::kNaive), "no error");
}

}  // namespace
}  // namespace rnnlab
