// SPDX-License-Identifier: Apache-2.0
#include "train/models/model_settings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "base/config/document.h"

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
  EXPECT_EQ(complaint("kind: language_model\nbidirectional: true"),
            "model.yaml:2:16: bidirectional and kind (model.yaml:1:7): a bidirectional language model would see the "
            "tokens that it has to predict: use bidirectional: false");
  EXPECT_EQ(complaint("kind: language_model\npooling: mean"),
            "model.yaml:2:10: pooling and kind (model.yaml:1:7): only sequence_classifier and sequence_regressor read "
            "pooling; "
            "remove it");
  EXPECT_EQ(complaint("kind: language_model\ndense: [3]"),
            "model.yaml:2:8: dense and kind (model.yaml:1:7): only sequence_classifier, sequence_regressor and "
            "image_classifier read dense; remove it");
  EXPECT_EQ(complaint("kind: language_model\ntied: true\nembedding_size: 3\nhidden_size: 4"),
            "model.yaml:2:7: tied, embedding_size (model.yaml:3:17) and hidden_size (model.yaml:4:14): tied weights "
            "need an embedding_size equal to hidden_size");
  EXPECT_EQ(complaint("cell: lstm\nreset_gate: before"),
            "model.yaml:2:13: reset_gate and cell (model.yaml:1:7): only gru has a reset gate");
  EXPECT_EQ(complaint("cell: rnn_tanh\nactivation: relu"),
            "model.yaml:2:13: activation and cell (model.yaml:1:7): only lstm, gru and lstm_peephole have an "
            "activation to choose; a plain "
            "cell's activation is in its name: use rnn_relu");
  EXPECT_EQ(complaint("cell: lstm\ncandidate: linear"),
            "model.yaml:2:12: candidate and cell (model.yaml:1:7): only min_gru and min_lstm have a form of the "
            "candidate to choose");
  EXPECT_EQ(complaint("cell: lstm\nheads: 2"), "model.yaml:2:8: heads and cell (model.yaml:1:7): only slstm has heads");
  EXPECT_EQ(complaint("cell: slstm\nheads: 3\nhidden_size: 8"),
            "model.yaml:2:8: heads and hidden_size (model.yaml:3:14): the number of heads must divide hidden_size: 8");
  EXPECT_EQ(complaint("dropout: 0.5"),
            "model.yaml:1:10: dropout and num_layers (default): dropout applies between recurrent layers, and there is "
            "only one: use output_dropout");
  EXPECT_EQ(complaint("dense_dropout: 0.5"),
            "model.yaml:1:16: dense_dropout and dense (default): there are no dense layers: remove dense_dropout");
  EXPECT_EQ(complaint("{kind: image_classifier, embedding_size: 5}"),
            "model.yaml:1:42: embedding_size and kind (model.yaml:1:8): only sequence_classifier, sequence_regressor "
            "and language_model read embedding_size; remove it");
  EXPECT_EQ(complaint("tied: true"),
            "model.yaml:1:7: tied and kind (default): only language_model reads tied; remove it");
}

TEST(ModelInfo, EveryKeyIsReadByAModelAndEveryReadKeyExists) {
  const config::StructSpec& spec = ModelSettings::schema().spec();
  std::set<std::string_view> read_keys = {"kind", "initialization", "initial_weights"};
  for (const auto& [kind, name] : config::EnumNames<ModelKind>::kNames)
    read_keys.insert(info_of(kind).keys.begin(), info_of(kind).keys.end());
  for (const config::Entry& entry : spec.entries) EXPECT_TRUE(read_keys.contains(entry.key)) << entry.key;
  for (const std::string_view key : read_keys) EXPECT_NE(spec.find(key), nullptr) << key;
}

TEST(ModelSettings, AnImageClassifierDoesNotReadTheKeysOfRecurrentLayers) {
  EXPECT_THAT(read("kind: image_classifier\nnum_convolutions: 4\ndense: [1024]\ndense_dropout: 0.5").complaints,
              IsEmpty());
  for (const std::string line :
       {"cell: gru", "hidden_size: 64", "num_layers: 2", "bidirectional: true", "dropout: 0.1", "reset_gate: before",
        "activation: relu", "candidate: linear", "heads: 2", "output_dropout: 0.1"}) {
    const std::string key = line.substr(0, line.find(':'));
    EXPECT_EQ(complaint(line + "\nkind: image_classifier"),
              fmt::format("model.yaml:1:{}: {} and kind (model.yaml:2:7): only sequence_classifier, sequence_regressor "
                          "and language_model read {}; remove it",
                          key.size() + 3, key, key));
  }
  EXPECT_EQ(complaint("kind: image_classifier\npooling: mean"),
            "model.yaml:2:10: pooling and kind (model.yaml:1:7): only sequence_classifier and sequence_regressor read "
            "pooling; remove it");
  EXPECT_EQ(complaint("kind: image_classifier\ntied: true"),
            "model.yaml:2:7: tied and kind (model.yaml:1:7): only language_model reads tied; remove it");
}

TEST(ModelSettings, ConvolutionsAreTwoOrFourAndAnImageClassifiers) {
  EXPECT_EQ(complaint("kind: image_classifier\nnum_convolutions: 3"),
            "model.yaml:2:19: num_convolutions: got '3', expected an integer, 2 or 4");
  EXPECT_EQ(
      complaint("num_convolutions: 4"),
      "model.yaml:1:19: num_convolutions and kind (default): only image_classifier reads num_convolutions; remove it");
}

TEST(ModelSettings, ADenseLayerHasUnits) {
  EXPECT_EQ(complaint("dense: [32, 0]"),
            "model.yaml:1:13: dense, item 2: got '0', expected an integer, at least 1 and at most 1048576");
}

}  // namespace
}  // namespace rnnlab
