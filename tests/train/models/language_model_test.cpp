// SPDX-License-Identifier: Apache-2.0
#include "train/models/language_model.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/cuda.h>

#include "train/models/output_layer.h"
#include "train/models/small_models.h"

namespace rnnlab {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

ModelSettings small_language_model() {
  ModelSettings settings;
  settings.kind = ModelKind::kLanguageModel;
  settings.hidden_size = 6;
  return settings;
}

at::Tensor tokens() { return at::tensor({0, 1, 2, 3, 4, 0, 1, 2}, at::kLong).view({4, 2}); }

TEST(LanguageModel, PredictsTheVocabularyAtEveryStep) {
  auto settings = small_language_model();
  settings.embedding_size = 3;
  const auto model = initialized_model(settings, text_shape(5));
  EXPECT_THAT(model->forward(batch_of(tokens())).sizes(), ElementsAre(4, 2, 5));
  EXPECT_THAT(model->named_parameters()["embedding.weight"].sizes(), ElementsAre(5, 3));
}

TEST(LanguageModel, IsEmbeddingThenRecurrenceThenOutputLayer) {
  const auto model = initialized_model(small_language_model(), text_shape(5));
  const auto parameters = model->named_parameters();
  const auto recurrent = std::dynamic_pointer_cast<RecurrentLayer>(model->named_children()["recurrent"]);
  const auto hidden = recurrent->forward(at::embedding(parameters["embedding.weight"], tokens())).output;
  const auto expected = at::linear(hidden, parameters["output.weight"], parameters["output.bias"]);
  EXPECT_TRUE(at::allclose(model->forward(batch_of(tokens())), expected, 1e-6, 1e-6));
}

TEST(LanguageModel, TiedHasOneWeightThatLearnsFromInputAndOutput) {
  auto settings = small_language_model();
  settings.tied = true;
  const auto model = initialized_model(settings, text_shape(5));
  EXPECT_THAT(model->named_parameters().keys(), Not(Contains("embedding.weight")));
  model->forward(batch_of(at::tensor({3}, at::kLong).view({1, 1}))).select(-1, 1).sum().backward();
  const auto moved = model->named_parameters()["output.weight"].grad().abs().sum(1).gt(0);
  EXPECT_TRUE(at::equal(moved, at::tensor({0, 1, 0, 1, 0}, at::kLong).to(at::kBool)));  // predicted 1, read 3
}

void expect_near_the_largest(const at::Tensor& got, const at::Tensor& wanted, double tolerance) {
  const double scale = wanted.abs().max().item<double>();
  EXPECT_LE((got.cpu() - wanted).abs().max().item<double>(), tolerance * scale);
}

TEST(LanguageModel, GivesOnAGpuWhatItGivesOnTheCpuThroughAPaddedLayer) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  at::globalContext().setAllowTF32CuBLAS(true);
  const at::Tensor text = at::randint(65, {32, 512}, at::detail::createCPUGenerator(1), at::kLong);
  for (const bool tied : {false, true}) {
    auto settings = small_language_model();
    settings.hidden_size = 256;
    settings.tied = tied;
    const auto here = initialized_model(settings, text_shape(65)), there = initialized_model(settings, text_shape(65));
    there->to(at::kCUDA);
    EXPECT_TRUE(gains_by_padding(at::zeros({32, 512, 256}).cuda(), there->named_parameters()["output.weight"]));
    const at::Tensor expected = here->forward(batch_of(text)), got = there->forward(batch_of(text.cuda()));
    expect_near_the_largest(got, expected, 2e-3);
    expected.square().sum().backward();
    got.square().sum().backward();
    for (const auto& parameter : here->named_parameters()) {
      SCOPED_TRACE(parameter.key());
      expect_near_the_largest(there->named_parameters()[parameter.key()].grad(), parameter.value().grad(), 5e-3);
    }
  }
  at::globalContext().setAllowTF32CuBLAS(false);
}

// Windows of a text, one after the other, give what the text gives as one sequence.
TEST(LanguageModel, CarriesItsStatesFromBatchToBatch) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh}) {
    ModelSettings settings = small_language_model();
    settings.cell = cell;
    settings.num_layers = 2;
    const auto model = initialized_model(settings, text_shape(5));
    const at::Tensor text = tokens().repeat({3, 1});  // (12, 2)
    const at::Tensor whole = model->forward(batch_of(text));
    model->carry_states(2);
    for (const bool is_again : {false, true}) {
      for (int64_t window = 0; window < 3; ++window) {
        const at::Tensor logits = model->forward(batch_of(text.narrow(0, 4 * window, 4)));
        EXPECT_TRUE(at::allclose(logits, whole.narrow(0, 4 * window, 4), 1e-5, 1e-6)) << window << is_again;
        logits.sum().backward();  // the states that the pass began with are still there
      }
      model->forget_states();
    }
    model->eval();
    EXPECT_TRUE(at::allclose(model->forward(batch_of(text)), whole, 1e-5, 1e-6)) << "only training carries states";
  }
}

TEST(LanguageModel, DoesNotSeeTheFuture) {
  const auto model = initialized_model(small_language_model(), text_shape(5));
  const auto before = model->forward(batch_of(tokens()));
  auto changed = tokens();
  changed[3].fill_(4);
  const auto after = model->forward(batch_of(changed));
  EXPECT_TRUE(at::equal(before.narrow(0, 0, 3), after.narrow(0, 0, 3)));
  EXPECT_FALSE(at::equal(before[3], after[3]));
}

}  // namespace
}  // namespace rnnlab
