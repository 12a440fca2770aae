// SPDX-License-Identifier: Apache-2.0
#include "runs/experiment.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "golden.h"
#include "results/run_folder.h"
#include "results/work_settings.h"
#include "runs/sweep.h"

namespace rnnlab {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> findings_in(const std::string& yaml) {
  config::Findings findings;
  read_cases(config::Document::from_text(yaml, "a.yaml", findings), findings);
  return findings.lines();
}

TEST(Experiment, DefaultsAreAValidExperiment) { EXPECT_THAT(findings_in("name: simple\n"), IsEmpty()); }

TEST(Experiment, WithATargetAtEveryStepPoolsNothing) {
  const std::string data = "data: {source: npy, path: a, train_inputs: x, train_targets: y, target_per: step}\n";
  EXPECT_THAT(findings_in(data), IsEmpty());
  expect_golden(findings_in(data + "model: {pooling: mean}\n"));
  EXPECT_THAT(findings_in("data: {source: idx, path: a, train_inputs: x, train_targets: y, target_per: step}\n"
                          "model: {kind: image_classifier}\n"),
              Contains(HasSubstr("only sequence_classifier and sequence_regressor have an output for each step")));
}

TEST(Experiment, CarriesStatesOfALanguageModelInOneProcess) {
  const std::string text = "data: {source: text}\nmodel: {kind: language_model}\n";
  const std::string carries = "training: {carry_state: true}\n";
  EXPECT_THAT(findings_in(text + carries), IsEmpty());
  expect_golden(findings_in(carries));
  expect_golden(findings_in(text + carries + "devices: 2\n"));
}

TEST(Experiment, HasVectorsOfTokensAndCategoriesOnly) {
  expect_golden(findings_in("model: {embedding_size: 4}\n"));
  EXPECT_THAT(findings_in("data: {source: csv, path: a, target: [y], window: 2, categories: [b]}\n"
                          "model: {kind: sequence_regressor, embedding_size: 4}\n"),
              IsEmpty());
}

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

TEST(Experiment, RefusesWhatTheLayerCannotDo) {
  expect_golden(findings_in("layer: fused\nmodel: {activation: relu}\n"));
  EXPECT_THAT(findings_in("layer: naive\nmodel: {activation: relu}\n"), IsEmpty());
}

TEST(Experiment, RefusesACellThatTheLayerDoesNotHave) {
  const auto lines = findings_in("layer: fused\nmodel: {cell: min_gru}\n");
  ASSERT_EQ(lines.size(), 1u);
  expect_golden(lines[0]);
  EXPECT_THAT(lines[0], HasSubstr("model.cell"));
  for (const std::string layer : {"naive", "scan", "auto"})
    EXPECT_THAT(findings_in("layer: " + layer + "\nmodel: {cell: min_gru}\n"), IsEmpty());
}

TEST(Experiment, RefusesASizeThatTheLayerDoesNotHave) {
  const auto lines = findings_in("layer: persistent\nmodel: {hidden_size: 100}\n");
  ASSERT_EQ(lines.size(), 1u);
  expect_golden(lines[0]);
  EXPECT_THAT(lines[0], HasSubstr("model.hidden_size"));
  EXPECT_THAT(findings_in("layer: persistent\nmodel: {hidden_size: 104}\n"), IsEmpty());
}

TEST(Experiment, ReadsLayersOfEarlierVersionsWithANote) {
  for (const std::string layer : {"persistent_block", "persistent_clusters", "persistent_teams"}) {
    config::Findings findings;
    const auto document = config::Document::from_text("layer: " + layer + "\n", "old.yaml", findings);
    EXPECT_EQ(config::read(document, Experiment::schema(), findings).layer, LayerKind::kPersistent);
    EXPECT_THAT(findings.throw_if_any(),
                ElementsAre("old.yaml:1:8: layer: " + layer + " is now a part of persistent: write layer: persistent"));
  }
  EXPECT_THAT(findings_in("layer: auto\nauto_layer: persistent_teams\n"), IsEmpty());
}

TEST(Experiment, TakesAnAlgorithmForCudnnWithItsOwnLayerOnly) {
  EXPECT_THAT(findings_in("layer: cudnn\ncudnn_algorithm: persist_static\n"), IsEmpty());
  EXPECT_THAT(findings_in("layer: fused\ncudnn_algorithm: auto\n"), IsEmpty());
  const auto lines = findings_in("layer: fused\ncudnn_algorithm: standard\n");
  ASSERT_EQ(lines.size(), 1u);
  expect_golden(lines[0]);
  EXPECT_THAT(lines[0], HasSubstr("cudnn_algorithm"));
}

TEST(Experiment, HasNoLargePersistentLayersInFloat32) {
  const std::string layer = "layer: persistent\ndevice: cuda\nmodel: {hidden_size: 1536}\n";
  EXPECT_THAT(findings_in(layer + "precision: tf32\n"), IsEmpty());
  expect_golden(findings_in(layer + "precision: fp32\n"));
}

TEST(Experiment, SaysHowANetworkIsComputedByTheKeyThatIsForIt) {
  const std::string classifier = "model: {kind: image_classifier}\n";
  EXPECT_THAT(findings_in(classifier + "convolution: plain\n"), IsEmpty());
  expect_golden(findings_in(classifier + "layer: naive\n"));
  expect_golden(findings_in("convolution: plain\n"));
}

TEST(Experiment, GivesAnImageClassifierImagesAndItsLoss) {
  const std::string classifier = "model: {kind: image_classifier}\n";
  expect_golden(findings_in(classifier + "data: {source: csv, path: a.csv, target: [b]}\n"));
  expect_golden(findings_in(classifier + "data: {source: text, path: a.txt}\n"));
  expect_golden(findings_in(classifier + "training: {loss: binary_cross_entropy}\n"));
}

TEST(Experiment, ReportsAModelThatContradictsItselfOnce) {
  expect_golden(findings_in("model: {reset_gate: before}\n"));
  expect_golden(findings_in("layer: naive\nmodel: {cell: rnn_tanh, activation: relu}\n"));
}

TEST(Experiment, RefusesABidirectionalLanguageModelNamingBothKeys) {
  const auto lines =
      findings_in("data: {source: text, path: a.txt}\nmodel: {kind: language_model, bidirectional: true}\n");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("model.bidirectional"));
  EXPECT_THAT(lines[0], HasSubstr("model.kind"));
}

TEST(Experiment, RefusesAModelThatDoesNotFitTheData) {
  EXPECT_THAT(findings_in("data: {source: digits}\nmodel: {kind: language_model}\n"),
              ElementsAre(HasSubstr("a language model reads text")));
  expect_golden(findings_in("data: {source: text, path: a.txt}\n"));
}

TEST(Experiment, RefusesAClassifierForASeries) {
  const std::string series = "data: {source: csv, path: a, target: [y], window: 2";
  expect_golden(findings_in(series + "}\n"));
  EXPECT_THAT(findings_in(series + ", task: classification}\n"), IsEmpty());
  EXPECT_THAT(findings_in(series + "}\nmodel: {kind: sequence_regressor}\n"), IsEmpty());
}

TEST(Experiment, RefusesALayerOnADeviceThatItIsNotFor) {
  expect_golden(findings_in("device: cpu\nlayer: wavefront\n"));
  EXPECT_THAT(findings_in("device: auto\nlayer: wavefront\n"), IsEmpty());
  expect_golden(findings_in("device: cpu\nprecision: fp16\n"));
  EXPECT_THAT(findings_in("device: auto\nprecision: fp16\n"), IsEmpty());
  EXPECT_THAT(findings_in("device: cpu\nlayer: auto\n"), IsEmpty());
}

TEST(Experiment, RefusesALossThatDoesNotFitTheModel) { expect_golden(findings_in("training: {loss: mse}\n")); }

TEST(Experiment, RefusesAMomentumThatTheOptimizerDoesNotHave) {
  expect_golden(findings_in("training: {optimizer: adam, momentum: 0.9}\n"));
  EXPECT_THAT(findings_in("training: {optimizer: rmsprop, momentum: 0.9}\n"), IsEmpty());
}

// Without `task`, numbers of 0 and 1 may be binary targets: then RunContext looks at the data.
TEST(Experiment, RefusesToWatchAnAccuracyOfNumbers) {
  const auto findings_with = [](const char* data, const char* training) {
    return findings_in(
        fmt::format("data: {{source: csv, path: a.csv, target: [y]{}}}\nmodel: {{kind: sequence_regressor}}\n"
                    "training: {{early_stopping: valid_accuracy{}}}\n",
                    data, training));
  };
  const auto refusal = ElementsAre(HasSubstr("valid_accuracy is defined for classes, binary targets or tokens"));
  EXPECT_THAT(findings_with("", ", loss: mse"), refusal);
  EXPECT_THAT(findings_with(", task: regression", ""), refusal);
  EXPECT_THAT(findings_with("", ""), IsEmpty());
}

TEST(Experiment, NamesOneLimitOfALayerThatDoesNotRunOnTheDevice) {
  expect_golden(findings_in("device: cpu\nlayer: persistent\nmodel: {hidden_size: 12}\n"));
}

TEST(Experiment, RefusesToWatchAMetricOfOtherTasks) {
  expect_golden(findings_in("training: {early_stopping: valid_rmse}\n"));
  expect_golden(findings_in("training: {stop_at: {valid_perplexity: 3}}\n"));
  EXPECT_THAT(
      findings_in("data: {source: csv, path: a.csv, target: [y], window: 3}\nmodel: {kind: sequence_regressor}\n"
                  "training: {early_stopping: valid_rmse, stop_at: {valid_mae: 0.5}}\n"),
      IsEmpty());
  EXPECT_THAT(findings_in("data: {source: text}\nmodel: {kind: language_model}\n"
                          "training: {early_stopping: valid_bits_per_character, stop_at: {valid_perplexity: 3}}\n"),
              IsEmpty());
}

TEST(Experiment, RefusesToComputeAMetricOfOtherTasks) {
  EXPECT_THAT(findings_in("training: {metrics: [macro_f1, roc_auc]}\n"), IsEmpty());
  expect_golden(findings_in("training: {metrics: [macro_f1, mase]}\n"));
  expect_golden(findings_in("training: {early_stopping: valid_r2}\n"));
  expect_golden(findings_in("training: {metrics: [macro_f2]}\n"));
  expect_golden(findings_in("data: {num_valid: 0}\ntraining: {metrics: [macro_f1]}\n"));
}

TEST(Experiment, RefusesATargetWithoutValidation) {
  expect_golden(findings_in("data: {num_valid: 0}\ntraining: {stop_at: {valid_accuracy: 0.9}}\n"));
  EXPECT_THAT(findings_in("training: {stop_at: {valid_accuracy: 98}}\n"), ElementsAre(HasSubstr("at most 1")));
}

TEST(Experiment, RefusesToWatchMissingValidation) {
  EXPECT_THAT(findings_in("data: {num_valid: 0}\n"), IsEmpty());
  expect_golden(findings_in("data: {num_valid: 0}\ntraining: {early_stopping: valid_loss}\n"));
}

TEST(Experiment, ProposesWhatADeviceIsCalledHere) {
  const auto finding = [](const std::string& device) { return findings_in("device: " + device + "\n").at(0); };
  expect_golden(finding("gpu"));
  EXPECT_THAT(finding("gpu:1"), HasSubstr(" (write cuda:1)"));
  EXPECT_THAT(finding("CUDA"), HasSubstr(" (write cuda)"));
  EXPECT_THAT(finding("cdua"), HasSubstr(" (did you mean 'cuda'?)"));
  EXPECT_THAT(finding("tpu:0"), ::testing::EndsWith("or cuda:N"));
}

TEST(Experiment, SaysThatACellIsNotALayer) {
  expect_golden(findings_in("layer: lstm\n"));
  EXPECT_THAT(findings_in("layer: naiv\n"), ElementsAre(HasSubstr(" (did you mean 'naive'?)")));
}

TEST(Experiment, SaysWhichLettersAreOfAName) {
  expect_golden(findings_in("name: m\xC3\xA4rz\n"));
  EXPECT_THAT(findings_in("name: a b\n"), ElementsAre(::testing::EndsWith("not starting with '.'")));
}

TEST(Experiment, ReportsEverythingInOneGo) {
  expect_golden(findings_in("nmae: x\ndevice: gpu\nseed: -1\nmodel: {hiden_size: 3}\n"));
}

// A run of an earlier version is compared with one of this version, whose file has more keys.
TEST(Experiment, HasDefaultsThatRunsOfEarlierVersionsMean) {
  const Settings stored = config_values(std::filesystem::path(RNNLAB_SOURCE_DIR) /
                                        "tests/stored/bcb54cc/runs/digits/2026-11-23T06-47-38Z-cpu-fused/config.yaml");
  const Settings defaults = effective_settings(Experiment());
  for (const auto& [key, value] : defaults)
    EXPECT_TRUE(stored.contains(key) || is_same_setting(key, stored, defaults)) << key << ": " << value;
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
