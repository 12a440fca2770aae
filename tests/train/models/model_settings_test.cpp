// SPDX-License-Identifier: Apache-2.0
#include "train/models/model_settings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "golden.h"
#include "train/settings_reading.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Reading<ModelSettings> read(const std::string& yaml) { return read_settings<ModelSettings>(yaml, "model.yaml"); }

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

std::string complaint(const std::string& yaml) { return only_one(read(yaml).complaints); }

TEST(ModelSettings, CombinationsWithoutSenseNameTheirKeys) {
  expect_golden(complaint("kind: language_model\nbidirectional: true"));
  expect_golden(complaint("kind: language_model\npooling: mean"));
  expect_golden(complaint("kind: language_model\ndense: [3]"));
  expect_golden(complaint("kind: language_model\ntied: true\nembedding_size: 3\nhidden_size: 4"));
  expect_golden(complaint("cell: lstm\nreset_gate: before"));
  expect_golden(complaint("cell: rnn_tanh\nactivation: relu"));
  expect_golden(complaint("cell: lstm\ncandidate: linear"));
  expect_golden(complaint("cell: lstm\nheads: 2"));
  expect_golden(complaint("cell: slstm\nheads: 3\nhidden_size: 8"));
  expect_golden(complaint("dropout: 0.5"));
  expect_golden(complaint("dense_dropout: 0.5"));
  expect_golden(complaint("{kind: image_classifier, embedding_size: 5}"));
  expect_golden(complaint("tied: true"));
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
    expect_golden(complaint(line + "\nkind: image_classifier"));
  }
  expect_golden(complaint("kind: image_classifier\npooling: mean"));
  expect_golden(complaint("kind: image_classifier\ntied: true"));
}

TEST(ModelSettings, ConvolutionsAreTwoOrFourAndAnImageClassifiers) {
  expect_golden(complaint("kind: image_classifier\nnum_convolutions: 3"));
  expect_golden(complaint("num_convolutions: 4"));
}

TEST(ModelSettings, ADenseLayerHasUnits) { expect_golden(complaint("dense: [32, 0]")); }

}  // namespace
}  // namespace rnnlab
