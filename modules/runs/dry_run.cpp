// SPDX-License-Identifier: Apache-2.0
#include "runs/dry_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "runs/devices.h"
#include "runs/opening.h"
#include "runs/run_context.h"
#include "train/loop/profiling.h"

namespace rnnlab {
namespace {

DryRunMemory dry_memory(const RunContext& run) {
  const MemoryEstimate least = estimate_memory(run.experiment, Purpose::kTraining, size_of(run.dataset));
  DryRunMemory memory{.least = least, .on_host = least.on_host(run.device)};
  if (!run.device.is_cpu()) memory.on_gpu = least.on_device(run.device);
  memory.measured_peak = peak_memory_bytes(run.device);
  return memory;
}

int64_t num_epochs(int64_t num_steps, int64_t steps_per_epoch) {
  return (num_steps + steps_per_epoch - 1) / steps_per_epoch;
}

std::optional<double> estimated_seconds(const DryRun& outcome) {
  if (!outcome.num_steps) return outcome.max_seconds;
  const double num_validations = static_cast<double>(num_epochs(*outcome.num_steps, outcome.steps_per_epoch));
  const double seconds = static_cast<double>(*outcome.num_steps) * outcome.step_seconds +
                         num_validations * outcome.epoch_valid_seconds.value_or(0);
  return std::min(seconds, outcome.max_seconds.value_or(seconds));
}

void add_times(DryRun& outcome, const StepTimes& times, const RunPlan& plan) {
  outcome.steps_per_epoch = plan.steps_per_epoch;
  if (plan.total_steps > 0) outcome.num_steps = plan.total_steps;
  outcome.first_step_seconds = times.first_step_seconds;
  outcome.step_seconds = times.step_seconds;
  outcome.epoch_train_seconds = static_cast<double>(plan.steps_per_epoch) * times.step_seconds;
  if (times.valid_batch_seconds)
    outcome.epoch_valid_seconds = static_cast<double>(times.num_valid_batches) * *times.valid_batch_seconds;
  outcome.run_seconds = estimated_seconds(outcome);
}

void append_notes(std::vector<std::string>& all, const std::vector<std::string>& notes) {
  all.insert(all.end(), notes.begin(), notes.end());
}

}  // namespace

DryRun dry_run(const Experiment& experiment, const std::vector<std::string>& command_line, Logger& logger) {
  RunContext run(experiment, command_line);
  Opening opening(logger, {});
  opening.log_run(run);
  opening.log_path(run.path);
  const TrainingSettings& training = run.experiment.training;
  DryRun outcome{.name = run.experiment.name,
                 .device = run.experiment.device,
                 .layer = implementation_label(run.experiment),
                 .precision = run.identity.precision,
                 .path = run.path.path,
                 .notes = run.notes,
                 .batch_size = std::min(training.batch_size, run.dataset.train.size()),
                 .batches_per_step = training.accumulate,
                 .max_seconds = training.max_seconds,
                 .may_end_early = training.early_stopping || !training.stop_at.values.empty()};
  const StepTimes times = run.trainer->measure();
  run.refuse_fallbacks();
  const std::vector<std::string> on_graphs = graph_notes(run);
  log_notes(on_graphs, logger);
  append_notes(outcome.notes, run.path.notes);
  append_notes(outcome.notes, on_graphs);
  outcome.memory = dry_memory(run);
  add_times(outcome, times, run.trainer->plan());
  return outcome;
}

namespace {

// Returns "" if the command has one run.
std::string case_line(const DryRun& outcome) {
  if (outcome.num_runs == 1) return "";
  const std::string label = outcome.label.empty() ? "" : fmt::format(" ({})", outcome.label);
  return fmt::format("case      1 of {}{}; {} in all\n", outcome.num_cases, label, counted(outcome.num_runs, "run"));
}

std::string memory_text(const DryRunMemory& memory) {
  const std::string on_gpu = memory.on_gpu ? fmt::format("{} on the GPU and ", format_bytes(*memory.on_gpu)) : "";
  std::string text =
      fmt::format("at least {}{} on the host ({})", on_gpu, format_bytes(memory.on_host), parts_text(memory.least));
  if (memory.measured_peak)
    text += fmt::format("; the dry run took {} {}", format_bytes(*memory.measured_peak),
                        memory.on_gpu ? "of the GPU's" : "with the program itself");
  return text;
}

std::string batch_text(const DryRun& outcome) {
  const std::string work =
      outcome.batches_per_step == 1
          ? fmt::format("a batch of {}", counted(outcome.batch_size, "sample"))
          : fmt::format("a step of {} batches of {}", outcome.batches_per_step, counted(outcome.batch_size, "sample"));
  return fmt::format("{} for {}, measured after a first one of {}", format_seconds(outcome.step_seconds), work,
                     format_seconds(outcome.first_step_seconds));
}

std::string epoch_text(const DryRun& outcome) {
  std::string text = fmt::format("about {} for {}", format_duration(outcome.epoch_train_seconds),
                                 counted(outcome.steps_per_epoch, "step"));
  if (outcome.epoch_valid_seconds)
    text += fmt::format(", and {} for validation", format_duration(*outcome.epoch_valid_seconds));
  return text;
}

std::string run_text(const DryRun& outcome) {
  if (!outcome.num_steps)
    return fmt::format("{}, by training.max_seconds", format_duration(outcome.max_seconds.value_or(0)));
  const bool is_cut = outcome.max_seconds && *outcome.run_seconds == *outcome.max_seconds;
  const char* bound = is_cut ? " at most, by training.max_seconds," : outcome.may_end_early ? " at most" : "";
  return fmt::format("about {}{} for {}", format_duration(*outcome.run_seconds), bound,
                     counted(num_epochs(*outcome.num_steps, outcome.steps_per_epoch), "epoch"));
}

// Returns "" if the command has one run, whose time is the sum.
std::string sum_line(const DryRun& outcome) {
  const auto seconds = outcome.all_runs_seconds();
  if (outcome.num_runs == 1 || !seconds) return "";
  return fmt::format("sum       about {} for {}, if each takes as long as this one\n", format_duration(*seconds),
                     counted(outcome.num_runs, "run"));
}

}  // namespace

std::string dry_run_text(const DryRun& outcome) {
  return fmt::format(
      "{}: {} on {}; dry run: nothing was written\n{}memory    {}\nbatch     {}\nepoch     {}\nrun       {}\n{}"
      "The times of an epoch and of a run are estimates from one batch: they leave out the start and saving.\n",
      outcome.name, outcome.layer, outcome.device, case_line(outcome), memory_text(outcome.memory), batch_text(outcome),
      epoch_text(outcome), run_text(outcome), sum_line(outcome));
}

std::string dry_run_json(const DryRun& outcome) { return json_text(to_json(outcome)); }

}  // namespace rnnlab
