// SPDX-License-Identifier: Apache-2.0
// Fuzzes the state.json of a checkpoint that was changed and sealed again, which a checksum does not detect. Small runs
// of every kind of data are trained first; the input's bytes choose a run, leaves of its state, and new values. For any
// values, evaluating, predicting and resuming accept the checkpoint or refuse it. The file of the whole model gets the
// same values.
#include <ATen/Parallel.h>
#include <stdlib.h>

#include <fstream>

#include "base/sha256.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "data/load_dataset.h"
#include "fuzz/choices.h"
#include "fuzz/fuzz_support.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"
#include "runs/resume.h"
#include "runs/run_context.h"
#include "runs/sweep.h"
#include "runs/use/evaluate_model.h"
#include "runs/use/export_weights.h"
#include "runs/use/generate_text.h"
#include "runs/use/predict.h"
#include "train/loop/trainer.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kRuns = {
    "layer: naive\n"
    "data: {source: csv, path: series.csv, features: [a, b], target: [b], window: 3, missing: mean}\n"
    "model: {kind: sequence_regressor, hidden_size: 3}\n",
    "data: {source: csv, path: series.csv, features: [a, b], target: [kind], missing: zero}\n"
    "model: {hidden_size: 3}\n",
    "data: {source: text, path: text.txt, sequence_length: 5}\nmodel: {kind: language_model, hidden_size: 3}\n",
    "data: {source: synthetic, num_train: 16, num_valid: 8, sequence_length: 3, num_features: 2, normalize: standard}\n"
    "model: {hidden_size: 3, num_layers: 2, dropout: 0.5}\n",
    "convolution: plain\n"
    "data: {source: digits, num_train: 10, num_valid: 10}\nmodel: {kind: image_classifier, dense: [4]}\n"};

void write_file(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  require(static_cast<bool>(file.flush()));
}

std::string series() {
  std::string text = "a,b,kind\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("{},{},{}\n", i, i * i % 7, i % 2 == 0 ? "even" : "odd");
  return text;
}

// A run that has ended, and the state of its last checkpoint.
struct TrainedRun {
  Experiment experiment;
  std::string settings;
  Dataset dataset;
  fs::path checkpoint;
  Json state;
  Manifest manifest;
  std::vector<std::string> leaves;  // JSON pointers
  fs::path file;                    // of the whole model
  TensorFile whole;                 // as it was written
  Json entry;                       // of its metadata
};

std::string text_of_settings(const Experiment& experiment) { return config::print(experiment, Experiment::schema()); }

Experiment experiment_of(const std::string& yaml) {
  config::Findings findings;
  const auto document = config::Document::from_text(
      "name: run\ndevice: cpu\ntraining: {epochs: 2, batch_size: 8, num_threads: 1}\n" + yaml, "x.yaml", findings);
  Experiment experiment = config::read(document, Experiment::schema(), findings);
  require(findings.empty());
  return experiment;
}

TrainedRun train(const std::string& yaml) {
  TrainedRun run;
  Logger logger(Verbosity::kQuiet, Terminal{});
  run.experiment = experiment_of(yaml);
  const RunOutcome outcome = run_experiment(run.experiment, {.out = fs::current_path()}, logger);
  run.dataset = load_dataset(run.experiment.data);
  run.checkpoint = latest_checkpoint(outcome.folder / kCheckpointsFolder).place.value().path;
  run.experiment = read_saved_run(run.checkpoint).facts.experiment;
  run.settings = text_of_settings(run.experiment);
  run.state = load_checkpoint(run.checkpoint).state;
  run.manifest = verify_checkpoint(run.checkpoint);
  const Json flat = run.state.flatten();
  for (const auto& [pointer, value] : flat.items()) run.leaves.push_back(pointer);
  run.file = outcome.folder / "whole.safetensors";
  export_whole(saved_model(load_trained_model({.run = run.checkpoint, .checkpoint = ""})), run.file);
  run.whole = read_safetensors(run.file);
  run.entry = unsealed(run.whole.metadata.at(kModelKey), "entry");
  return run;
}

std::vector<TrainedRun> train_all() {
  work_in_memory("state");
  ::unsetenv("RNNLAB_DATA");
  at::set_num_threads(1);
  write_file("series.csv", series());
  write_file("text.txt", "abcabdabcabdabcabdabcabdabcabdabcabdabcabdabcabd");
  std::vector<TrainedRun> runs;
  for (const std::string& yaml : kRuns) runs.push_back(train(yaml));
  return runs;
}

// ---- changes ----

void add_choices(const config::StructSpec& spec, std::vector<std::string>& names) {
  for (const config::Entry& entry : spec.entries) {
    if (entry.group() != nullptr) add_choices(*entry.group()->spec, names);
    if (entry.field() == nullptr) continue;
    for (const std::string& name : entry.field()->choices) add_once(names, name);
  }
}

const std::vector<std::string>& values_of_settings() {
  static const std::vector<std::string> values = [] {
    std::vector<std::string> list = {"9223372036854775807",
                                     "1000000000",
                                     "65536",
                                     "1024",
                                     "28",
                                     "7",
                                     "3",
                                     "2",
                                     "1",
                                     "0",
                                     "-1",
                                     "1e38",
                                     "1e-38",
                                     "0.5",
                                     "true",
                                     "false",
                                     "\"\"",
                                     "[]",
                                     "[1]",
                                     "[b]",
                                     "[a, b]"};
    add_choices(Experiment::schema().spec(), list);
    return list;
  }();
  return values;
}

// A line "  hidden_size: 3  # units" with another value.
std::string with_other_setting(const std::string& yaml, Choices& choices) {
  std::vector<std::string> lines = split(yaml, '\n');
  std::string& line = lines[choices.below(lines.size())];
  if (const size_t colon = line.find(": "); colon != std::string::npos)
    line = line.substr(0, colon + 2) + choices.one_of(values_of_settings());
  return join(lines, "\n");
}

const std::vector<std::string> kValues = {"0",
                                          "1",
                                          "2",
                                          "3",
                                          "7",
                                          "28",
                                          "-1",
                                          "65536",
                                          "1000000000",
                                          "2147483647",
                                          "2147483648",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "18446744073709551615",
                                          "0.5",
                                          "-0.0",
                                          "1e308",
                                          "1e-308",
                                          "1e38",
                                          "\"nan\"",
                                          "\"inf\"",
                                          "\"-inf\"",
                                          "null",
                                          "true",
                                          "false",
                                          "[]",
                                          "{}",
                                          "[0]",
                                          "[[]]",
                                          "\"\"",
                                          "\"a\"",
                                          "\"00\"",
                                          "\"\\u001b[31m\"",
                                          "\"regression\"",
                                          "\"classification\"",
                                          "\"binary\"",
                                          "\"language_model\"",
                                          "\"standard\"",
                                          "\"minmax\"",
                                          "\"none\"",
                                          "\"column_minmax\"",
                                          "\"unit\"",
                                          "\"auto\""};

void change(Json& state, const TrainedRun& run, Choices& choices) {
  const Json::json_pointer leaf(choices.one_of(run.leaves));
  if (!state.contains(leaf)) return;  // an earlier change took it away
  Json& value = state.at(leaf);
  if (leaf == Json::json_pointer("/experiment") && value.is_string() && choices.below(8) != 0) {
    value = with_other_setting(value.get<std::string>(), choices);
    return;
  }
  const Json other = Json::parse(choices.one_of(kValues));
  Json& parent = state.at(leaf.parent_pointer());
  switch (choices.below(6)) {
    case 0:
      parent = other;
      return;
    case 1:
      if (parent.is_array() && !parent.empty()) parent.erase(parent.size() - 1);
      return;
    case 2:
      if (parent.is_array()) parent.push_back(Json(value));
      return;
    default:
      value = other;
  }
}

void seal(const TrainedRun& run, const Json& state) {
  const std::string text = json_text(state);
  Manifest manifest = run.manifest;
  manifest.files[kStateFile] = {std::ssize(text), Sha256().update(text).hex()};
  write_file(run.checkpoint / kStateFile, text);
  write_file(run.checkpoint / kManifestFile, manifest_text(manifest));
}

// Gives the file of the whole model what it shares with the state.
void seal_file(const TrainedRun& run, const Json& state) {
  Json entry = run.entry;
  for (auto& [key, value] : entry.items())
    if (state.contains(key)) value = state.at(key);
  TensorMetadata metadata = run.whole.metadata;
  metadata[kModelKey] = sealed_text(entry);
  write_safetensors(run.file, SafetensorsImage(run.whole.tensors, metadata));
}

// ---- readers ----

bool takes_a_moment(const Experiment& experiment) {
  constexpr int64_t kMostBytes = 1 << 16;
  const bool has_own_threads = experiment.training.num_threads.value_or(1) > 1;
  return !has_own_threads && least_data_bytes(experiment.data) <= kMostBytes;
}

const std::initializer_list<ExitCode> kRefusals = {ExitCode::kUsage, ExitCode::kData, ExitCode::kDevice,
                                                   ExitCode::kDiverged, ExitCode::kCheckpoint};

void predict_some(const TrainedModel& trained) {
  if (trained.data.shape.task == Task::kLanguageModel)
    generate_text(trained, {.prompt = "a", .length = 2, .temperature = 1, .seed = 1});
  else
    predict(trained, load_data(trained, Targets::kIfPresent).samples, 1);
}

void use(const fs::path& model) {
  const TrainedModel trained = load_trained_model({.run = model, .checkpoint = ""});
  expect_done_or_refused(kRefusals, [&] { predict_some(trained); });
  evaluate_model(trained, load_data(trained, Targets::kRequired).samples, 1);
}

// As resume_experiment does, up to the end of a step.
void resume(const TrainedRun& run, SavedRun saved) {
  TrainerOptions options = trainer_options(run.experiment, c10::Device(c10::kCPU));
  options.settings.max_steps = std::max<int64_t>(saved.snapshot.progress.state.step, 0) % config::kMostCounted + 1;
  const auto model = make_model(run.experiment, run.dataset.shape);
  Trainer trainer(*model, run.dataset, options);
  require_resumable(saved, trainer, options.device, run.checkpoint);
  trainer.restore(std::move(saved.snapshot));
  trainer.run();
}

void read_checkpoint(const TrainedRun& run) {
  std::optional<SavedRun> saved;
  const auto read = [&] { saved = read_saved_run(run.checkpoint); };
  if (!expect_read_or_refused(ExitCode::kCheckpoint, read)) return;
  if (!takes_a_moment(saved->facts.experiment)) return;
  expect_done_or_refused(kRefusals, [&] { use(run.checkpoint); });
  if (text_of_settings(saved->facts.experiment) != run.settings) return;  // resume refuses them
  expect_done_or_refused(kRefusals, [&] { resume(run, std::move(*saved)); });
}

void read_file(const TrainedRun& run) {
  std::optional<SavedModel> model;
  const auto read = [&] { model = read_saved_model(run.file); };
  if (!expect_read_or_refused(ExitCode::kCheckpoint, read)) return;
  if (takes_a_moment(model->experiment)) expect_done_or_refused(kRefusals, [&] { use(run.file); });
}

}  // namespace
}  // namespace rnnlab::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rnnlab;
  static const std::vector<testing::TrainedRun> runs = testing::train_all();
  const testing::OneSecond limit;
  testing::Choices choices({data, size});
  const testing::TrainedRun& run = choices.one_of(runs);
  Json state = run.state;
  do testing::change(state, run, choices);
  while (!choices.is_used_up());
  testing::seal(run, state);
  testing::read_checkpoint(run);
  testing::seal_file(run, state);
  testing::read_file(run);
  return 0;
}
