// SPDX-License-Identifier: Apache-2.0
#include "runs/opening.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "base/text.h"
#include "layers/device/gpu_device.h"
#include "results/run_folder.h"
#include "runs/devices.h"
#include "train/loop/stopping.h"
#include "train/models/model.h"

namespace rnnlab {
namespace {

std::string device_text(const RunContext& run) {
  if (run.device.is_cpu())
    return fmt::format("{} ({})", run.environment.cpu.model, counted(run.environment.num_threads, "thread"));
  return fmt::format("{} ({})", model_of_one_gpu(run.environment.nvidia), run.device.str());
}

std::string engine_text(const RunContext& run) {
  if (run.device.is_cpu()) return "Gloo";
  return run.experiment.distributed.exchange == ExchangeKind::kSymmetricMemory ? "LibTorch's symmetric memory" : "NCCL";
}

std::string ranks_text(const RunContext& run) {
  return fmt::format("{} by {}, each with a part of every batch; gradients are exchanged by {}",
                     counted(run.environment.ranks->num_processes, "process"), config::name_of(this_launch()->launcher),
                     engine_text(run));
}

std::string layer_text(const RunContext& run) {
  const Experiment& e = run.experiment;
  return fmt::format("{}, precision {}, seed {}{}", implementation_label(e), run.identity.precision, e.seed,
                     e.deterministic ? ", deterministic" : "");
}

std::string placement_text(const RunContext& run) {
  const bool chosen = run.experiment.data.placement == Placement::kAutomatic;
  return fmt::format("placement {}{}", run.identity.placement, chosen ? " (chosen by auto)" : "");
}

std::string as_note(const std::string& text) { return "          " + text; }

void add_notes(std::vector<std::string>& lines, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) lines.push_back(as_note(note));
}

std::vector<std::string> device_lines(const RunContext& run) {
  std::vector<std::string> lines = {"device    " + device_text(run)};
  if (run.environment.ranks) lines.push_back("ranks     " + ranks_text(run));
  if (!run.exchange_note.empty()) lines.push_back(as_note(run.exchange_note));
  return lines;
}

std::vector<std::string> layer_lines(const RunContext& run) {
  std::vector<std::string> lines = {"layer     " + layer_text(run)};
  add_notes(lines, run.notes);
  add_notes(lines, take_kernel_notes());
  return lines;
}

std::vector<std::string> data_lines(const RunContext& run) {
  std::vector<std::string> lines = {"data      " + run.dataset.description};
  add_notes(lines, run.dataset.notes);
  lines.push_back(as_note(placement_text(run)));
  return lines;
}

// Returns "" if the training samples fill a batch.
std::string large_batch_warning(const RunContext& run) {
  const int64_t batch = run.experiment.training.batch_size, num_samples = run.dataset.train.size();
  if (batch <= num_samples) return "";
  return fmt::format(
      "training.batch_size: {} is more than the {}, so an epoch is one step; use a smaller batch for more steps",
      format_count(batch), counted(num_samples, "training sample"));
}

// Returns the lines of a train.log without their times and levels.
std::set<std::string> lines_of_log(const std::filesystem::path& run_folder) {
  constexpr int64_t kMostBytes = int64_t{1} << 24;
  constexpr size_t kTimeAndLevel = std::string_view("2026-11-21T02:59:51.123Z warning ").size();
  std::set<std::string> lines;
  try {
    for (const std::string& line : split(read_file(run_folder / kLogFile, kMostBytes), '\n'))
      if (line.size() > kTimeAndLevel) lines.insert(line.substr(kTimeAndLevel));
  } catch (const UserError&) {
    return {};
  }
  return lines;
}

}  // namespace

std::vector<std::string> graph_notes(const RunContext& run) {
  if (!run.experiment.training.cuda_graph) return {};
  if (run.device.is_cpu()) return {"training.cuda_graph does not apply on a CPU"};
  const std::string& reason = run.trainer->why_no_graphs();
  if (reason.empty()) return {"every step is one CUDA graph (training.cuda_graph)"};
  return {fmt::format("the steps run one by one, without CUDA graphs: {}", reason)};
}

void log_notes(const std::vector<std::string>& notes, Logger& logger) {
  for (const std::string& note : notes) logger.info(as_note(note));
}

Opening::Opening(Logger& logger, const std::filesystem::path& previous_run) : logger_(logger) {
  if (!previous_run.empty()) known_ = lines_of_log(previous_run);
}

void Opening::log_block(const std::vector<std::string>& lines) {
  const bool is_known = std::ranges::all_of(lines, [&](const std::string& line) { return known_.contains(line); });
  for (const std::string& line : lines) is_known ? logger_.detail(line) : logger_.info(line);
}

void Opening::log_folder(const std::filesystem::path& folder) { logger_.info("run       " + folder.string()); }

void Opening::log_run(const RunContext& run) {
  log_block(device_lines(run));
  log_block(layer_lines(run));
  log_block(data_lines(run));
  for (const Warning& warning : warnings(run.environment)) logger_.warn_in_file(warning.text);
  for (const std::string& warning : run.memory_warnings) logger_.warn(warning);
  if (const std::string warning = large_batch_warning(run); !warning.empty()) logger_.warn(warning);
  logger_.detail(fmt::format("data fingerprint {}, initial weights {}", run.identity.data_fingerprint,
                             run.identity.initial_weights_sha256));
  log_block(split(trim(parameter_table(*run.model)), '\n'));
}

void Opening::log_path(const ExecutionPath& path) {
  std::vector<std::string> lines = {"path      " + path.path};
  add_notes(lines, path.notes);
  log_block(lines);
}

}  // namespace rnnlab
