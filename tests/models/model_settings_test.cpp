#include "models/model_settings.h"

#include <gmock/gmock.h>

#include "config/document.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Reading {
  ModelSettings settings;
  std::vector<std::string> complaints;
};

Reading read(const std::string& yaml) {
  config::Findings findings;
  const auto document = config::Document::from_text(yaml, "model.yaml", findings);
  Reading reading;
  reading.settings = config::read(document, ModelSettings::schema(), findings);
  reading.complaints = findings.lines();
  return reading;
}

TEST(ModelSettings, SayTheMnistRowsNetworkExactly) {
  const auto [settings, complaints] = read(
      "kind: sequence_classifier\ncell: lstm\nhidden_size: 128\nnum_layers: 2\ndropout: 0.2\n"
      "output_dropout: 0.1\ndense: [32]\ndense_activation: relu\ndense_dropout: 0.2\n");
  EXPECT_THAT(complaints, IsEmpty());
  EXPECT_EQ(settings.num_layers, 2);
  EXPECT_THAT(settings.dense, ElementsAre(32));
  EXPECT_EQ(settings.dense_activation, Activation::kRelu);
}

TEST(ModelSettings, WhatIsPrintedReadsBack) {
  ModelSettings settings;
  settings.kind = ModelKind::kLanguageModel;
  settings.cell = Cell::kGru;
  settings.embedding_size = 128;
  settings.tied = true;
  const auto text = config::print(settings, ModelSettings::schema());
  const auto [again, complaints] = read(text);
  EXPECT_THAT(complaints, IsEmpty());
  EXPECT_EQ(config::print(again, ModelSettings::schema()), text);
}

TEST(ModelSettings, EmbeddingIsAsLongAsTheHiddenStateUnlessGiven) {
  ModelSettings settings;
  settings.hidden_size = 64;
  EXPECT_EQ(settings.effective_embedding_size(), 64);
  settings.embedding_size = 16;
  EXPECT_EQ(settings.effective_embedding_size(), 16);
}

std::string complaint(const std::string& yaml) {
  const auto complaints = read(yaml).complaints;
  return complaints.size() == 1 ? complaints.front()
                                : "expected one complaint, got " + std::to_string(complaints.size());
}

TEST(ModelSettings, CombinationsWithoutSenseNameTheirKeys) {
  EXPECT_EQ(complaint("kind: language_model\nbidirectional: true"), "");
  EXPECT_EQ(complaint("kind: language_model\npooling: mean"), "");
  EXPECT_EQ(complaint("kind: language_model\ndense: [3]"), "");
  EXPECT_EQ(complaint("kind: language_model\ntied: true\nembedding_size: 3\nhidden_size: 4"), "");
  EXPECT_EQ(complaint("cell: lstm\nreset_gate: before"), "");
  EXPECT_EQ(complaint("cell: rnn_tanh\nactivation: relu"), "");
  EXPECT_EQ(complaint("dropout: 0.5"), "");
  EXPECT_EQ(complaint("dense_dropout: 0.5"), "");
  EXPECT_EQ(complaint("embedding_size: 5"), "");
  EXPECT_EQ(complaint("tied: true"), "");
}

TEST(ModelSettings, ADenseLayerHasUnits) { EXPECT_EQ(complaint("dense: [32, 0]"), ""); }

}  // namespace
}  // namespace rnnlab
