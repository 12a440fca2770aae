#include "experiment/run_log.h"

#include "base/numbers.h"
#include "base/text.h"
#include "experiment/run_ranks.h"
#include "models/model_parameters.h"
#include "recurrent/gpu_device.h"

namespace rnnlab {
namespace {

std::string device_text(const PreparedRun& run) {
  if (run.device.is_cpu())
    return fmt::format("{} ({})", run.environment.cpu.model, counted(run.environment.num_threads, "thread"));
  return fmt::format("{} ({})", model_of_one_gpu(run.environment.nvidia), run.device.str());
}

std::string ranks_text(const PreparedRun& run) {
  return fmt::format("{} by {}, each with a part of every batch; gradients travel by {}",
                     counted(run.options.ranks->size(), "process"), name_of(launch_here()->launcher),
                     run.device.is_cpu() ? "Gloo" : "NCCL");
}

std::string layer_text(const PreparedRun& run) {
  const Experiment& e = run.experiment;
  return fmt::format("{}, precision {}, seed {}{}", implementation_label(e), run.identity.precision, e.seed,
                     e.deterministic ? ", deterministic" : "");
}

std::string placement_text(const PreparedRun& run) {
  const bool chosen = run.experiment.data.placement == Placement::kAutomatic;
  return fmt::format("placement {}{}", run.identity.placement, chosen ? " (chosen by auto)" : "");
}

}  // namespace

void log_opening(const PreparedRun& run, const std::filesystem::path& folder, Logger& logger) {
  logger.info("run       " + folder.string());
  logger.info("device    " + device_text(run));
  if (run.options.ranks != nullptr) logger.info("ranks     " + ranks_text(run));
  if (!run.exchange_note.empty()) log_notes({run.exchange_note}, logger);
  logger.info("layer     " + layer_text(run));
  log_notes(run.notes, logger);
  log_notes(take_kernel_notes(), logger);
  logger.info("data      " + run.dataset.description);
  log_notes(run.dataset.notes, logger);
  log_notes({placement_text(run)}, logger);
  for (const Warning& warning : warnings(run.environment)) logger.warn(warning.text);
  for (const std::string& warning : run.memory_warnings) logger.warn(warning);
  logger.detail(fmt::format("data fingerprint {}, initial weights {}", run.identity.data_fingerprint,
                            run.identity.initial_weights_sha256));
  for (const std::string& line : split(trim(parameter_table(*run.model)), '\n')) logger.info(line);
}

void log_notes(const std::vector<std::string>& notes, Logger& logger) {
  for (const std::string& note : notes) logger.info("          " + note);
}

void log_path(const ExecutionPath& path, Logger& logger) {
  logger.info("path      " + path.path);
  log_notes(path.notes, logger);
}

}  // namespace rnnlab
