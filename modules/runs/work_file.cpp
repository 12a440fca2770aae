// SPDX-License-Identifier: Apache-2.0
// The work of a run as a file for another program (write_work_file in run.h).
#include "runs/run.h"

#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/system/json_fields.h"
#include "results/checkpoint/safetensors.h"
#include "results/work_settings.h"
#include "runs/experiment.h"
#include "runs/run_context.h"
#include "train/loop/train_step.h"
#include "train/weights/tensor_reader.h"

namespace rnnlab {
namespace {

int64_t num_epochs(const RunPlan& plan) { return (plan.total_steps + plan.steps_per_epoch - 1) / plan.steps_per_epoch; }

void require_bound(const RunPlan& plan) {
  if (plan.total_steps == 0)
    throw_error(ExitCode::kUsage,
                "export: only time limits this run, so the number of its epochs is not known; set training.epochs");
}

// Returns the orders of the samples, (epochs, samples of an epoch).
at::Tensor orders(const RunContext& run) {
  std::vector<at::Tensor> all;
  for (int64_t epoch = 0; epoch < num_epochs(run.trainer->plan()); ++epoch) all.push_back(run.trainer->order(epoch));
  return at::stack(all);
}

// Returns the learning rates, (steps), float64.
at::Tensor learning_rates(const RunContext& run) {
  const int64_t total_steps = run.trainer->plan().total_steps;
  const Schedule schedule = make_schedule(run.experiment.training, total_steps);
  if (info_of(schedule.kind).counts_plateaus())
    throw_error(ExitCode::kUsage,
                "export: with schedule: {} the learning rates follow from the validation, so a work file cannot list "
                "them; use another schedule",
                config::name_of(schedule.kind));
  std::vector<double> rates;
  for (int64_t step = 0; step < total_steps; ++step) rates.push_back(learning_rate_at(schedule, step));
  return at::tensor(rates, at::kDouble);
}

void add_samples(std::vector<NamedTensor>& tensors, const std::string& part, const Samples& samples) {
  if (samples.size() == 0) return;
  if (samples.mapped)
    throw_error(ExitCode::kUsage,
                "export: a work file holds all inputs, but they are mapped from their file; set data.memory: resident");
  if (target_counts(samples).defined())
    throw_error(ExitCode::kUsage,
                "export: some {} targets are missing, and programs that read a work file do not leave them out; use a "
                "file of data that has all targets",
                part);
  tensors.push_back({part + ".inputs", samples.inputs});
  tensors.push_back({part + ".targets", samples.targets});
  if (samples.lengths.defined()) tensors.push_back({part + ".lengths", samples.lengths});
}

std::vector<NamedTensor> tensors_of(const RunContext& run) {
  std::vector<NamedTensor> tensors;
  add_samples(tensors, "train", run.dataset.train);
  add_samples(tensors, "valid", run.dataset.valid);
  tensors.push_back({"order", orders(run)});
  tensors.push_back({"learning_rates", learning_rates(run)});
  for (const auto& [name, tensor] : named_parameters(*run.model))
    tensors.push_back({"weights." + name, tensor.detach().to(at::kCPU, at::kFloat).contiguous()});
  return tensors;
}

Json shape_json(const RunContext& run) {
  const DataShape& shape = run.dataset.shape;
  const RunPlan& plan = run.trainer->plan();
  return {{"task", std::string(config::name_of(shape.task))},
          {"input_size", shape.input_size},
          {"num_outputs", shape.num_outputs},
          {"samples_per_epoch", plan.num_train},
          {"steps_per_epoch", plan.steps_per_epoch},
          {"total_steps", plan.total_steps}};
}

TensorMetadata metadata_of(const RunContext& run) {
  const Settings settings = effective_settings(run.experiment);
  const Json work = {{"schema_version", kFileVersion},
                     {"settings", to_json(settings)},
                     {"defaults", to_json(effective_settings(Experiment()))},
                     {"settings_sha256", settings_sha256(settings)},
                     {"config", config::print(run.experiment, Experiment::schema())},
                     {"shape", shape_json(run)},
                     {"identity", to_json(run.identity)},
                     {"environment", to_json(run.environment)}};
  return {{"rnnlab_work", json_text(work)}};
}

}  // namespace

std::string text_of(const WorkSize& size) {
  return fmt::format("{} an epoch, {} of {}", counted(size.num_train, "training sample"),
                     counted(size.num_epochs, "epoch"), counted(size.steps_per_epoch, "step"));
}

WorkSize write_work_file(const Experiment& experiment, const std::vector<std::string>& command_line,
                         const std::filesystem::path& out) {
  const RunContext run(experiment, command_line);
  require_bound(run.trainer->plan());
  const std::vector<NamedTensor> tensors = tensors_of(run);
  write_safetensors(out, SafetensorsImage(views_of(tensors), metadata_of(run)));
  const RunPlan& plan = run.trainer->plan();
  return {.num_train = plan.num_train, .num_epochs = num_epochs(plan), .steps_per_epoch = plan.steps_per_epoch};
}

}  // namespace rnnlab
