// SPDX-License-Identifier: Apache-2.0
#include "runs/use/generate_text.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include "base/expect_error.h"
#include "base/text.h"
#include "golden.h"
#include "runs/use/trained_runs.h"
#include "train/models/language_model.h"

namespace rnnlab {
namespace {

using testing::TrainedRuns;
using GenerateText = TrainedRuns;

// Generates each token from the whole text before it, which is slow and has no state.
std::string greedy_without_state(const TrainedModel& trained, std::vector<int64_t> tokens, int64_t length) {
  const at::NoGradGuard no_grad;
  std::string text;
  for (int64_t i = 0; i < length; ++i) {
    Batch batch;
    batch.inputs = at::tensor(tokens, at::kLong).view({-1, 1});
    batch.size = 1;
    tokens.push_back(trained.model->forward(batch)[-1][0].argmax().item<int64_t>());
    text += trained.data.vocabulary[static_cast<size_t>(tokens.back())];
  }
  return text;
}

TEST_F(GenerateText, CarriesTheStateFromTokenToToken) {
  for (const char* cell : {"lstm", "gru", "rnn_tanh"}) {
    const auto run = train_text({std::string("model.cell=") + cell, "model.num_layers=2", "training.epochs=1"});
    const TrainedModel trained = load(run);
    const auto& vocabulary = trained.data.vocabulary;
    const auto number = [&](const char* token) { return std::ranges::find(vocabulary, token) - vocabulary.begin(); };
    EXPECT_EQ(generate_text(trained, {.prompt = "ab", .length = 40, .temperature = 0}),
              greedy_without_state(trained, {number("a"), number("b")}, 40))
        << cell;
  }
}

TEST_F(GenerateText, GoesOnWithThePatternThatItLearned) {
  const TrainedModel trained = load(train_text({"training.epochs=40"}));
  expect_golden(generate_text(trained, {.prompt = "über-all: ", .length = 26, .temperature = 0}));
}

TEST_F(GenerateText, IsTheSameForTheSameSeed) {
  const TrainedModel trained = load(train_text());
  const auto text = [&](uint64_t seed, double temperature) {
    return generate_text(trained, {.prompt = "a", .length = 60, .temperature = temperature, .seed = seed});
  };
  EXPECT_EQ(text(1, 1.0), text(1, 1.0));
  EXPECT_NE(text(1, 1.0), text(2, 1.0));
  EXPECT_EQ(text(1, 1e-9), text(2, 0)) << "at this temperature only the most probable token is chosen";
}

TEST_F(GenerateText, IsTheSameWithEveryLayer) {
  const auto run = train_text();
  const TextRequest request{.prompt = "ü", .length = 60, .temperature = 1, .seed = 7};
  const std::string expected = generate_text(load(run), request);
  for (const char* layer : {"naive", "blocked", "hoisted"})
    EXPECT_EQ(generate_text(load(run, {std::string("layer=") + layer}), request), expected) << layer;
}

TEST_F(GenerateText, WritesBytesWhereItWasTrainedOnThem) {
  const TrainedModel trained = load(train_text({"data.tokens=bytes", "training.epochs=40"}));
  EXPECT_EQ(generate_text(trained, {.prompt = "ba. \xC3", .length = 9, .temperature = 0}),
            "\xBC"
            "ber-all:");
}

TEST_F(GenerateText, NamesWhatTheVocabularyLacks) {
  const TrainedModel trained = load(train_text());
  testing::expect_error(ExitCode::kUsage, [&] { generate_text(trained, {.prompt = "abz"}); });
  testing::expect_error(ExitCode::kUsage, [&] { generate_text(trained, {.prompt = ""}); });
  EXPECT_THAT([&] { generate_text(trained, {.prompt = "ab\xC3"}); }, ::testing::Throws<UserError>());
}

}  // namespace
}  // namespace rnnlab
