// SPDX-License-Identifier: Apache-2.0
#include "runs/experiment.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

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
  EXPECT_THAT(findings_in(data + "model: {pooling: mean}\n"),
              ElementsAre(HasSubstr("each step has an output of its own, so nothing is pooled: remove pooling")));
  EXPECT_THAT(findings_in("data: {source: idx, path: a, train_inputs: x, train_targets: y, target_per: step}\n"
                          "model: {kind: image_classifier}\n"),
              Contains(HasSubstr("only sequence_classifier and sequence_regressor have an output for each step")));
}

TEST(Experiment, CarriesStatesOfALanguageModelInOneProcess) {
  const std::string text = "data: {source: text}\nmodel: {kind: language_model}\n";
  const std::string carries = "training: {carry_state: true}\n";
  EXPECT_THAT(findings_in(text + carries), IsEmpty());
  EXPECT_THAT(findings_in(carries), ElementsAre(HasSubstr("only a language model carries states from batch to batch: "
                                                          "remove carry_state")));
  EXPECT_THAT(findings_in(text + carries + "devices: 2\n"),
              ElementsAre(HasSubstr("states are carried by one process: remove devices, or carry_state")));
}

TEST(Experiment, HasVectorsOfTokensAndCategoriesOnly) {
  EXPECT_THAT(findings_in("model: {embedding_size: 4}\n"),
              ElementsAre(HasSubstr("these data have neither tokens nor categories that get a vector: remove "
                                    "embedding_size")));
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
  EXPECT_THAT(findings_in("layer: fused\nmodel: {activation: relu}\n"),
              ElementsAre(HasSubstr("layer: fused does not support activation: relu, only tanh")));
  EXPECT_THAT(findings_in("layer: naive\nmodel: {activation: relu}\n"), IsEmpty());
}

TEST(Experiment, RefusesACellThatTheLayerDoesNotHave) {
  const auto lines = findings_in("layer: fused\nmodel: {cell: min_gru}\n");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("layer: fused does not support cell: min_gru; use layer: naive or scan"));
  EXPECT_THAT(lines[0], HasSubstr("model.cell"));
  for (const std::string layer : {"naive", "scan", "auto"})
    EXPECT_THAT(findings_in("layer: " + layer + "\nmodel: {cell: min_gru}\n"), IsEmpty());
}

TEST(Experiment, RefusesASizeThatTheLayerDoesNotHave) {
  const auto lines = findings_in("layer: persistent\nmodel: {hidden_size: 100}\n");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0],
              HasSubstr("layer: persistent does not support hidden_size: 100 (its kernels have multiples of 8 from "
                        "8 to 1536, in fp32 to 1024); use layer: naive"));
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
  EXPECT_THAT(
      lines[0],
      HasSubstr("only layer: cudnn has an algorithm for cuDNN, and layer: fused does not; remove cudnn_algorithm"));
  EXPECT_THAT(lines[0], HasSubstr("cudnn_algorithm"));
}

TEST(Experiment, HasNoLargePersistentLayersInFloat32) {
  const std::string layer = "layer: persistent\ndevice: cuda\nmodel: {hidden_size: 1536}\n";
  EXPECT_THAT(findings_in(layer + "precision: tf32\n"), IsEmpty());
  EXPECT_THAT(findings_in(layer + "precision: fp32\n"),
              ElementsAre(HasSubstr("layer: persistent supports at most 1024 units in fp32; use "
                                    "precision: tf32 or bf16, or layer: cudnn")));
}

TEST(Experiment, SaysHowANetworkIsComputedByTheKeyThatIsForIt) {
  const std::string classifier = "model: {kind: image_classifier}\n";
  EXPECT_THAT(findings_in(classifier + "convolution: plain\n"), IsEmpty());
  EXPECT_THAT(findings_in(classifier + "layer: naive\n"),
              ElementsAre("a.yaml:2:8: layer and model.kind (a.yaml:1:15): image_classifier has no recurrent "
                          "layers; remove layer"));
  EXPECT_THAT(findings_in("convolution: plain\n"),
              ElementsAre("a.yaml:1:14: convolution and model.kind (default): sequence_classifier has no "
                          "convolutions; remove convolution"));
}

TEST(Experiment, GivesAnImageClassifierImagesAndItsLoss) {
  const std::string classifier = "model: {kind: image_classifier}\n";
  EXPECT_THAT(findings_in(classifier + "data: {source: csv, path: a.csv, target: [b]}\n"),
              ElementsAre(HasSubstr("image_classifier reads images; use data.source: mnist, digits, idx or npy")));
  EXPECT_THAT(findings_in(classifier + "data: {source: text, path: a.txt}\n"),
              ElementsAre(HasSubstr("text is for a language model")));
  EXPECT_THAT(findings_in(classifier + "training: {loss: binary_cross_entropy}\n"),
              ElementsAre(HasSubstr("binary_cross_entropy does not fit image_classifier; use auto or cross_entropy")));
}

TEST(Experiment, ReportsAModelThatContradictsItselfOnce) {
  EXPECT_THAT(findings_in("model: {reset_gate: before}\n"), ElementsAre(HasSubstr("only gru has a reset gate")));
  EXPECT_THAT(findings_in("layer: naive\nmodel: {cell: rnn_tanh, activation: relu}\n"),
              ElementsAre(HasSubstr("a plain cell's activation is in its name")));
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
  EXPECT_THAT(findings_in("data: {source: text, path: a.txt}\n"),
              ElementsAre(HasSubstr("text is for a language model")));
}

TEST(Experiment, RefusesAClassifierForASeries) {
  const std::string series = "data: {source: csv, path: a, target: [y], window: 2";
  EXPECT_THAT(findings_in(series + "}\n"),
              ElementsAre(HasSubstr("a series is forecast as numbers, and a sequence_classifier predicts classes; set "
                                    "model.kind: sequence_regressor")));
  EXPECT_THAT(findings_in(series + ", task: classification}\n"), IsEmpty());
  EXPECT_THAT(findings_in(series + "}\nmodel: {kind: sequence_regressor}\n"), IsEmpty());
}

TEST(Experiment, RefusesALayerOnADeviceThatItIsNotFor) {
  EXPECT_THAT(findings_in("device: cpu\nlayer: wavefront\n"),
              ElementsAre(HasSubstr("layer: wavefront needs CUDA streams; on a CPU use layer: blocked")));
  EXPECT_THAT(findings_in("device: auto\nlayer: wavefront\n"), IsEmpty());
  EXPECT_THAT(findings_in("device: cpu\nprecision: fp16\n"),
              ElementsAre(HasSubstr("precision: fp16 needs a GPU; use bf16 or fp32 on the CPU")));
  EXPECT_THAT(findings_in("device: auto\nprecision: fp16\n"), IsEmpty());
  EXPECT_THAT(findings_in("device: cpu\nlayer: auto\n"), IsEmpty());
}

TEST(Experiment, RefusesALossThatDoesNotFitTheModel) {
  EXPECT_THAT(
      findings_in("training: {loss: mse}\n"),
      ElementsAre(HasSubstr("mse does not fit sequence_classifier; use auto, cross_entropy or binary_cross_entropy")));
}

TEST(Experiment, RefusesAMomentumThatTheOptimizerDoesNotHave) {
  EXPECT_THAT(findings_in("training: {optimizer: adam, momentum: 0.9}\n"),
              ElementsAre(HasSubstr("training.momentum and training.optimizer")));
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
  EXPECT_THAT(findings_in("device: cpu\nlayer: persistent\nmodel: {hidden_size: 12}\n"),
              ElementsAre(HasSubstr("on a CPU use layer: blocked, or naive for any cell")));
}

TEST(Experiment, RefusesToWatchAMetricOfOtherTasks) {
  EXPECT_THAT(findings_in("training: {early_stopping: valid_rmse}\n"),
              ElementsAre(HasSubstr("valid_rmse is defined for numbers; use valid_loss, valid_accuracy")));
  EXPECT_THAT(findings_in("training: {stop_at: {valid_perplexity: 3}}\n"),
              ElementsAre(HasSubstr("training.stop_at.valid_perplexity")));
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
  EXPECT_THAT(findings_in("training: {metrics: [macro_f1, mase]}\n"),
              ElementsAre(HasSubstr("mase is defined for numbers; use macro_f1, balanced_accuracy or roc_auc")));
  EXPECT_THAT(findings_in("training: {early_stopping: valid_r2}\n"),
              ElementsAre(HasSubstr("valid_r2 is defined for numbers; use valid_loss, valid_accuracy, valid_macro_f1, "
                                    "valid_balanced_accuracy or valid_roc_auc")));
  EXPECT_THAT(findings_in("training: {metrics: [macro_f2]}\n"),
              ElementsAre(HasSubstr("expected macro_f1, balanced_accuracy, roc_auc, r2, mase or smape")));
  EXPECT_THAT(findings_in("data: {num_valid: 0}\ntraining: {metrics: [macro_f1]}\n"),
              ElementsAre(HasSubstr("there are no validation data; set data.num_valid")));
}

TEST(Experiment, RefusesATargetWithoutValidation) {
  EXPECT_THAT(findings_in("data: {num_valid: 0}\ntraining: {stop_at: {valid_accuracy: 0.9}}\n"),
              ElementsAre("a.yaml:2:38: training.stop_at.valid_accuracy and data.num_valid (a.yaml:1:19): there are no "
                          "validation data; set data.num_valid"));
  EXPECT_THAT(findings_in("training: {stop_at: {valid_accuracy: 98}}\n"), ElementsAre(HasSubstr("at most 1")));
}

TEST(Experiment, RefusesToWatchMissingValidation) {
  EXPECT_THAT(findings_in("data: {num_valid: 0}\n"), IsEmpty());
  EXPECT_THAT(findings_in("data: {num_valid: 0}\ntraining: {early_stopping: valid_loss}\n"),
              ElementsAre("a.yaml:2:28: training.early_stopping and data.num_valid (a.yaml:1:19): there are no "
                          "validation data; set data.num_valid or use a train_ metric"));
}

TEST(Experiment, ProposesWhatADeviceIsCalledHere) {
  const auto finding = [](const std::string& device) { return findings_in("device: " + device + "\n").at(0); };
  EXPECT_EQ(finding("gpu"), "a.yaml:1:9: device: got 'gpu', expected auto, cpu, cuda or cuda:N (write cuda)");
  EXPECT_THAT(finding("gpu:1"), HasSubstr(" (write cuda:1)"));
  EXPECT_THAT(finding("CUDA"), HasSubstr(" (write cuda)"));
  EXPECT_THAT(finding("cdua"), HasSubstr(" (did you mean 'cuda'?)"));
  EXPECT_THAT(finding("tpu:0"), ::testing::EndsWith("or cuda:N"));
}

TEST(Experiment, SaysThatACellIsNotALayer) {
  EXPECT_THAT(findings_in("layer: lstm\n"),
              ElementsAre(HasSubstr(" (lstm is a cell: write model.cell: lstm; a layer is one way to compute it)")));
  EXPECT_THAT(findings_in("layer: naiv\n"), ElementsAre(HasSubstr(" (did you mean 'naive'?)")));
}

TEST(Experiment, SaysWhichLettersAreOfAName) {
  EXPECT_THAT(findings_in("name: m\xC3\xA4rz\n"), ElementsAre(HasSubstr(" (of the letters only a to z and A to Z)")));
  EXPECT_THAT(findings_in("name: a b\n"), ElementsAre(::testing::EndsWith("not starting with '.'")));
}

TEST(Experiment, ReportsEverythingInOneGo) {
  EXPECT_THAT(findings_in("nmae: x\ndevice: gpu\nseed: -1\nmodel: {hiden_size: 3}\n"),
              ElementsAre(HasSubstr("did you mean 'name'?"), HasSubstr("cuda:N"), HasSubstr("seed"),
                          HasSubstr("did you mean 'hidden_size'?")));
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
