// SPDX-License-Identifier: Apache-2.0
#include "train/loop/toy.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randn.h>

#include "train/loop/determinism.h"
#include "train/models/model.h"

namespace rnnlab {
namespace {

// The operations have only a few hundred elements, so several threads would only wait for each other.
[[maybe_unused]] const bool kOneThread = [] {
  set_num_threads(1);
  return true;
}();

Samples toy_samples(int64_t num_samples, Task task, const at::Generator& generator) {
  Samples samples;
  samples.inputs = at::randn({num_samples, 5, 3}, generator);
  const auto positive = samples.inputs.mean({1, 2}).gt(0);
  samples.targets = task == Task::kClassification ? positive.to(at::kLong) : positive.to(at::kFloat).unsqueeze(1);
  return samples;
}

}  // namespace

Dataset toy_dataset(int64_t num_train, int64_t num_valid, Task task) {
  const auto generator = at::detail::createCPUGenerator(7);
  Dataset dataset;
  dataset.train = toy_samples(num_train, task, generator);
  if (num_valid > 0) dataset.valid = toy_samples(num_valid, task, generator);
  dataset.shape.task = task;
  dataset.shape.input_size = 3;
  dataset.shape.sequence_length = 5;
  dataset.shape.num_outputs = task == Task::kClassification ? 2 : 1;
  return dataset;
}

std::shared_ptr<Model> toy_model(const Dataset& dataset, LayerKind layer, double output_dropout) {
  ModelSettings settings;
  settings.hidden_size = 8;
  settings.output_dropout = output_dropout;
  if (dataset.shape.task == Task::kRegression) settings.kind = ModelKind::kSequenceRegressor;
  if (dataset.shape.task == Task::kLanguageModel) settings.kind = ModelKind::kLanguageModel;
  auto model = make_model(settings, layer, dataset.shape);
  initialize(*model, settings.initialization, 1);
  return model;
}

TrainerOptions toy_options() {
  TrainerOptions options;
  options.settings.epochs = 2;
  options.settings.batch_size = 32;
  options.settings.learning_rate = 0.01;
  options.seed = 1;
  return options;
}

TrainingSettings with_loss(LossKind loss) {
  TrainingSettings settings;
  settings.loss = loss;
  return settings;
}

void Recorder::on_run_begin(const RunPlan&) { calls.emplace_back("run"); }
void Recorder::on_epoch_begin(const TrainingState& state) { calls.push_back("epoch " + std::to_string(state.epoch)); }
void Recorder::on_step(const StepProgress& progress) {
  calls.push_back("step " + std::to_string(progress.step));
  losses.push_back(progress.read_loss());
  at_step(progress);
}
void Recorder::on_epoch_end(const TrainingState&, const EpochRow& row) {
  calls.push_back("row " + std::to_string(row.epoch));
  rows.push_back(row);
  at_row(row);
}
void Recorder::on_run_end(const TrainingState&) { calls.emplace_back("end"); }

ToyRun run_toy(const Dataset& dataset, const TrainerOptions& options, double output_dropout, LayerKind layer) {
  ToyRun run;
  const auto model = toy_model(dataset, layer, output_dropout);
  Trainer trainer(*model, dataset, options);
  trainer.add_observer(run.seen);
  run.state = trainer.run();
  run.weights = weights_sha256(*model);
  run.why_no_graphs = trainer.why_no_graphs();
  return run;
}

}  // namespace rnnlab
