// SPDX-License-Identifier: Apache-2.0
#include "runs/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "golden.h"
#include "results/own_cells.h"
#include "results/run_folder.h"
#include "results/work_settings.h"
#include "runs/sweep.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> findings_in(const std::string& yaml) {
  config::Findings findings;
  read_cases(config::Document::from_text(yaml, "a.yaml", findings), findings);
  return findings.lines();
}

// Keys, and what is found in them: `refused` has the findings of golden.txt, `accepted` has none.
struct Keys {
  std::string name;
  std::vector<std::string> refused, accepted;
};

const std::string kSteps = ", path: a, train_inputs: x, train_targets: y, target_per: step}\n";
const std::string kText = "data: {source: text, path: a}\n", kTextModel = kText + "model: {kind: language_model}\n";
const std::string kCarries = "training: {carry_state: true}\n";
const std::string kClassifier = "model: {kind: image_classifier}\n";
const std::string kSeries = "data: {source: csv, path: a, target: [y], window: 2";
const std::string kNumbers = "model: {kind: sequence_regressor}\n";
const std::string kLarge = "layer: persistent\ndevice: cuda\nmodel: {hidden_size: 1536}\n";
const std::string kTable = "data: {source: csv, path: a.csv, target: [y]";
const std::string kWatchesAccuracy = kNumbers + "training: {early_stopping: valid_accuracy";

const std::vector<Keys> kKeys = {
    {"Defaults", {}, {"name: simple\n"}},
    {"NameOfLetters", {"name: m\xC3\xA4rz\n", "name: a b\n"}, {}},
    {"EverythingInOneGo", {"nmae: x\ndevice: gpu\nseed: -1\nmodel: {hiden_size: 3}\n"}, {}},
    {"NoPoolingOfTargetsOfSteps",
     {"data: {source: npy" + kSteps + "model: {pooling: mean}\n", "data: {source: idx" + kSteps + kClassifier},
     {"data: {source: npy" + kSteps}},
    {"StatesThatALanguageModelCarriesInOneProcess",
     {kCarries, kTextModel + kCarries + "devices: 2\n"},
     {kTextModel + kCarries}},
    {"VectorsOfTokensAndCategories",
     {"model: {embedding_size: 4}\n"},
     {kSeries + ", categories: [b]}\nmodel: {kind: sequence_regressor, embedding_size: 4}\n"}},
    {"WhatTheLayerCannotDo",
     {"layer: fused\nmodel: {activation: relu}\n"},
     {"layer: naive\nmodel: {activation: relu}\n"}},
    {"CellOfALayer",
     {"layer: fused\nmodel: {cell: min_gru}\n"},
     {"layer: naive\nmodel: {cell: min_gru}\n", "layer: scan\nmodel: {cell: min_gru}\n",
      "layer: auto\nmodel: {cell: min_gru}\n"}},
    {"SizeOfALayer",
     {"layer: persistent\nmodel: {hidden_size: 100}\n"},
     {"layer: persistent\nmodel: {hidden_size: 104}\n"}},
    {"LargePersistentLayersInFloat32", {kLarge + "precision: fp32\n"}, {kLarge + "precision: tf32\n"}},
    {"AlgorithmOfCudnn",
     {"layer: fused\ncudnn_algorithm: standard\n"},
     {"layer: cudnn\ncudnn_algorithm: persist_static\n", "layer: fused\ncudnn_algorithm: auto\n"}},
    {"DeviceOfALayer",
     {"device: cpu\nlayer: wavefront\n", "device: cpu\nprecision: fp16\n",
      "device: cpu\nlayer: persistent\nmodel: {hidden_size: 12}\n"},  // one limit is named
     {"device: auto\nlayer: wavefront\n", "device: auto\nprecision: fp16\n", "device: cpu\nlayer: auto\n"}},
    {"CellInPlaceOfALayer", {"layer: lstm\n", "layer: naiv\n"}, {}},
    {"KeyThatSaysHowANetworkIsComputed",
     {kClassifier + "layer: naive\n", "convolution: plain\n"},
     {kClassifier + "convolution: plain\n"}},
    {"ImageClassifier",
     {kClassifier + kTable + "}\n", kClassifier + kText, kClassifier + "training: {loss: binary_cross_entropy}\n"},
     {}},
    {"ModelThatContradictsItself",
     {"model: {reset_gate: before}\n", "layer: naive\nmodel: {cell: rnn_tanh, activation: relu}\n",
      kText + "model: {kind: language_model, bidirectional: true}\n"},
     {}},
    {"ModelOfTheData",
     {"data: {source: digits}\nmodel: {kind: language_model}\n", kText, kSeries + "}\n"},
     {kSeries + ", task: classification}\n", kSeries + "}\n" + kNumbers}},
    {"LossOfTheModel", {"training: {loss: mse}\n"}, {}},
    {"MomentumOfTheOptimizer",
     {"training: {optimizer: adam, momentum: 0.9}\n"},
     {"training: {optimizer: rmsprop, momentum: 0.9}\n"}},
    // Without `task`, numbers of 0 and 1 may be binary targets: then RunContext looks at the data.
    {"AccuracyOfNumbers",
     {kTable + "}\n" + kWatchesAccuracy + ", loss: mse}\n",
      kTable + ", task: regression}\n" + kWatchesAccuracy + "}\n"},
     {kTable + "}\n" + kWatchesAccuracy + "}\n"}},
    {"MetricOfTheTask",
     {"training: {early_stopping: valid_rmse}\n", "training: {stop_at: {valid_perplexity: 3}}\n"},
     {kSeries + "}\n" + kNumbers + "training: {early_stopping: valid_rmse, stop_at: {valid_mae: 0.5}}\n",
      kTextModel + "training: {early_stopping: valid_bits_per_character, stop_at: {valid_perplexity: 3}}\n"}},
    {"MetricsThatAreComputed",
     {"training: {metrics: [macro_f1, mase]}\n", "training: {early_stopping: valid_r2}\n",
      "training: {metrics: [macro_f2]}\n", "data: {num_valid: 0}\ntraining: {metrics: [macro_f1]}\n"},
     {"training: {metrics: [macro_f1, roc_auc]}\n"}},
    {"LossWithADistribution",
     {kSeries + "}\n" + kNumbers + "training: {metrics: [coverage]}\n", "training: {metrics: [coverage]}\n",
      kSeries + ", target_as: change}\n" + kNumbers + "training: {loss: poisson}\n",
      kSeries + "}\n" + kNumbers + "training: {quantiles: [0.1, 0.5, 0.9]}\n",
      kSeries + "}\n" + kNumbers + "training: {loss: gaussian, quantiles: [0.9, 0.5, 0.1]}\n",
      kSeries + "}\n" + kNumbers + "training: {loss: quantile, quantiles: [0.1, 0.9]}\n"},
     {kSeries + ", target_as: change}\n" + kNumbers +
      "training: {loss: student, quantiles: [0.05, 0.5, 0.95], early_stopping: valid_crps}\n"}},
    {"EpochsByValidation",
     {"data: {num_valid: 0}\ntraining: {epochs: auto}\n"},
     {"training: {epochs: auto}\n", "data: {num_valid: 0}\ntraining: {epochs: auto, early_stopping: train_loss}\n"}},
    {"MissingValidation",
     {"data: {num_valid: 0}\ntraining: {early_stopping: valid_loss}\n",
      "data: {num_valid: 0}\ntraining: {stop_at: {valid_accuracy: 0.9}}\n"},
     {"data: {num_valid: 0}\n"}},
    {"TargetOutOfRange", {"training: {stop_at: {valid_accuracy: 98}}\n"}, {}}};

class ExperimentKeys : public ::testing::TestWithParam<Keys> {};

TEST_P(ExperimentKeys, AreRefusedIfTheyContradictEachOther) {
  for (const std::string& yaml : GetParam().refused) {
    const std::vector<std::string> findings = findings_in(yaml);
    EXPECT_FALSE(findings.empty()) << yaml;
    expect_golden(findings);
  }
  for (const std::string& yaml : GetParam().accepted) EXPECT_THAT(findings_in(yaml), IsEmpty()) << yaml;
}

INSTANTIATE_TEST_SUITE_P(Of, ExperimentKeys, ::testing::ValuesIn(kKeys),
                         [](const auto& tested) { return tested.param.name; });

// The module results cannot know the field lists, because their modules are above it, so it has its own list.
TEST(Experiment, MarksTheSettingsThatAreNotComparedWork) {
  const config::StructSpec& spec = Experiment::schema().spec();
  for (const std::string section : {"model", "training"})
    for (const std::string& key : spec.find(section)->group()->spec->keys()) {
      const std::string dotted = section + "." + key;
      EXPECT_EQ(is_compared_work(dotted), !spec.may_change(dotted, config::Change::kOnCompare)) << dotted;
    }
}

TEST(Experiment, PrintsAFileThatReadsBackEqual) {
  config::Findings findings;
  const auto document = config::Document::from_text("seed: 7\nlayer: naive\nmodel: {hidden_size: 3}\n", "a", findings);
  const auto experiment = config::read(document, Experiment::schema(), findings);
  const std::string printed = config::print(experiment, Experiment::schema());
  const auto again = config::read(config::Document::from_text(printed, "b", findings), Experiment::schema(), findings);
  EXPECT_THAT(findings.lines(), IsEmpty());
  EXPECT_EQ(again.model.hidden_size, 3);
  EXPECT_EQ(config::print(again, Experiment::schema()), printed);
}

// The keys below `spec` that take numbers without an upper bound.
std::vector<std::string> unbounded_keys(const config::StructSpec& spec, const std::string& prefix) {
  std::vector<std::string> keys;
  for (const config::Entry& entry : spec.entries) {
    if (entry.group() != nullptr) {
      for (const std::string& key : unbounded_keys(*entry.group()->spec, prefix + entry.key + ".")) keys.push_back(key);
      continue;
    }
    const config::FieldSpec& field = *entry.field();
    const bool is_number = field.kind == config::ScalarKind::kInteger || field.kind == config::ScalarKind::kNumber;
    if (is_number && !field.upper && field.conditions.empty()) keys.push_back(prefix + entry.key);
  }
  return keys;
}

TEST(Experiment, BoundsEveryNumberButSeeds) {
  EXPECT_THAT(unbounded_keys(Experiment::schema().spec(), ""), ElementsAre("seed", "data.seed"));
}

TEST(Experiment, ReadsLayersOfEarlierVersionsWithANote) {
  for (const std::string layer : {"persistent_block", "persistent_clusters", "persistent_teams"}) {
    config::Findings findings;
    const auto document = config::Document::from_text("layer: " + layer + "\n", "old.yaml", findings);
    EXPECT_EQ(config::read(document, Experiment::schema(), findings).layer, LayerKind::kPersistent);
    EXPECT_THAT(findings.throw_if_any(), ElementsAre(HasSubstr("write layer: persistent")));
  }
  EXPECT_THAT(findings_in("layer: auto\nauto_layer: persistent_teams\n"), IsEmpty());
}

TEST(Experiment, ProposesWhatADeviceIsCalledHere) {
  const auto finding = [](const std::string& device) { return findings_in("device: " + device + "\n").at(0); };
  expect_golden(finding("gpu"));
  EXPECT_THAT(finding("gpu:1"), HasSubstr(" (write cuda:1)"));
  EXPECT_THAT(finding("CUDA"), HasSubstr(" (write cuda)"));
  EXPECT_THAT(finding("cdua"), HasSubstr(" (did you mean 'cuda'?)"));
  EXPECT_THAT(finding("tpu:0"), ::testing::EndsWith("or cuda:N"));
}

// A run of an earlier version is compared with one of this version, whose file has more keys.
TEST(Experiment, HasDefaultsThatRunsOfEarlierVersionsMean) {
  const Settings stored = config_values(std::filesystem::path(RNNLAB_SOURCE_DIR) /
                                        "tests/stored/bcb54cc/runs/digits/2026-11-23T06-47-38Z-cpu-fused/config.yaml");
  const Settings defaults = effective_settings(Experiment());
  for (const auto& [key, value] : defaults)
    EXPECT_TRUE(stored.contains(key) || is_same_setting(key, stored, defaults)) << key << ": " << value;
}

// The number of heads is not part of a cell's equations.
TEST(Experiment, HasTheOptionsOfCellsThatAComparisonKnows) {
#define RNNLAB_CELL_OPTION(enumerator, name, type, usual, noun, help) \
  EXPECT_EQ(is_option_of_cell("model." #name), std::string_view(#name) != "heads");
#include "layers/option_list.inc"
}

TEST(Experiment, EveryFileInExperimentsIsValid) {
  const std::filesystem::path folder = std::filesystem::path(RNNLAB_SOURCE_DIR) / "experiments";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const bool is_for_bench = entry.path().stem().string().starts_with("bench_");
    if (is_for_bench || entry.path().extension() != ".yaml") continue;
    config::Findings findings;
    read_cases(config::Document::from_file_with_base(entry.path(), findings), findings);
    EXPECT_THAT(findings.lines(), IsEmpty()) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 4);
}

}  // namespace
}  // namespace rnnlab
