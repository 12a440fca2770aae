#include "experiment/run_experiment.h"

#include <ATen/Parallel.h>

#include <chrono>
#include <ctime>

#include "base/numbers.h"
#include "base/text.h"
#include "data/load_dataset.h"
#include "experiment/device.h"
#include "experiment/identity.h"
#include "experiment/run_observers.h"
#include "experiment/training_path.h"
#include "experiment/versions.h"
#include "models/initialization.h"
#include "models/model_parameters.h"
#include "results/files.h"
#include "results/run_folder.h"
#include "training/determinism.h"
#include "training/stop_signal.h"
#include "training/trainer.h"

namespace rnnlab {
namespace {

using Clock = std::chrono::steady_clock;

// What a run has before its first step.
struct Prepared {
  Experiment experiment;  // with the device that `auto` came to
  c10::Device device;
  Environment environment;
  Dataset dataset;
  std::shared_ptr<Model> model;
  Identity identity;
  Clock::time_point began = Clock::now();
};

// Settings of the whole process: the last experiment's word counts.
void apply_process_settings(const Experiment& experiment) {
  set_num_threads(experiment.training.num_threads);
  set_determinism(experiment.deterministic ? Determinism::kOn : Determinism::kOff);
  set_precision(experiment.precision);
}

Prepared prepare(const Experiment& experiment, const RunRequest& request) {
  const auto began = Clock::now();
  const c10::Device device = resolve_device(experiment.device);
  apply_process_settings(experiment);
  Environment environment = collect_environment(request.command_line, at::get_num_threads(), software_versions());
  Dataset dataset = load_dataset(experiment.data);
  auto model = make_model(experiment.model, {experiment.layer, experiment.cudnn_algorithm}, dataset.shape);
  initialize(*model, experiment.model.initialization, static_cast<uint64_t>(experiment.seed));
  Identity identity = make_identity(experiment, device, dataset, *model, environment);
  Prepared prepared{experiment, device, std::move(environment), std::move(dataset), model, std::move(identity), began};
  prepared.experiment.device = device.str();
  return prepared;
}

TrainerOptions trainer_options(const Prepared& run) {
  return {.settings = run.experiment.training,
          .seed = static_cast<uint64_t>(run.experiment.seed),
          .device = run.device,
          .precision = run.experiment.precision,
          .placement = run.experiment.data.placement};
}

std::filesystem::path make_folder(const Prepared& run, const RunRequest& request) {
  const std::string layer(config::name_of(run.experiment.layer));
  const auto folder =
      create_run_folder(request.out, {run.experiment.name, device_label(run.device), layer, std::time(nullptr)});
  write_file_atomically(folder / kConfigFile, config::print(run.experiment, Experiment::schema()));
  write_environment(folder, run.environment);
  return folder;
}

std::string device_text(const Prepared& run) {
  if (run.device.is_cpu())
    return fmt::format("{} ({} threads)", run.environment.cpu.model, run.environment.num_threads);
  return fmt::format("{} ({})", gpu_model(run.environment.nvidia), run.device.str());
}

void log_lines(Logger& logger, const std::string& text) {
  for (const std::string& line : split(trim(text), '\n')) logger.info(line);
}

void log_opening(const Prepared& run, const std::filesystem::path& folder, Logger& logger) {
  const Experiment& e = run.experiment;
  logger.info(fmt::format("run       {}", folder.string()));
  logger.info(fmt::format("device    {}", device_text(run)));
  logger.info(fmt::format("layer     {}, precision {}, seed {}{}", config::name_of(e.layer),
                          effective_precision(e.precision, run.device), e.seed,
                          e.deterministic ? ", deterministic" : ""));
  logger.info(fmt::format("data      {}", run.dataset.description));
  for (const std::string& note : run.dataset.notes) logger.info("          " + note);
  for (const std::string& warning : warnings(run.environment)) logger.warn(warning);
  logger.detail(fmt::format("data fingerprint {}, initial weights {}", run.identity.data_fingerprint,
                            run.identity.initial_weights_sha256));
  log_lines(logger, parameter_table(*run.model));
}

Summary make_summary(const Prepared& run, const ExecutionPath& path) {
  const Experiment& e = run.experiment;
  Summary summary;
  summary.name = e.name;
  summary.device = run.device.str();
  summary.layer = config::name_of(e.layer);
  summary.precision = config::name_of(e.precision);
  summary.seed = e.seed;
  summary.path = path.path;
  summary.path_notes = path.notes;
  summary.warnings = warnings(run.environment);
  summary.identity = run.identity;
  return summary;
}

void finish_summary(Summary& summary, const Prepared& run, const std::vector<EpochRow>& rows,
                    const std::string& stop_reason) {
  summary.epochs = std::ssize(rows);
  summary.stop_reason = stop_reason;
  summary.final_metrics = final_metrics(rows);
  summary.epoch_time = epoch_time(rows);
  summary.total_seconds = std::chrono::duration<double>(Clock::now() - run.began).count();
}

void log_path(const ExecutionPath& path, Logger& logger) {
  logger.info("path      " + path.path);
  for (const std::string& note : path.notes) logger.info("          " + note);
}

// Trains, and leaves the summary behind whether the run ends well or diverges.
RunOutcome train(const Prepared& run, Trainer& trainer, const std::filesystem::path& folder, const RunRequest& request,
                 Logger& logger) {
  const StopSignalGuard signals;
  seed_dropout(static_cast<uint64_t>(run.experiment.seed), 0);  // cuDNN seeds its dropout once, at its first use
  const ExecutionPath path = observe_training_path(*run.model, run.dataset, trainer_options(run));
  log_path(path, logger);

  RunOutcome outcome{.folder = folder, .summary = make_summary(run, path)};
  ConsoleObserver console(logger, request.console);
  FileObserver files(folder);
  trainer.add_observer(files);
  trainer.add_observer(console);
  try {
    const TrainingState& end = trainer.run();
    finish_summary(outcome.summary, run, files.rows(), end.stop_text);
    outcome.exit_code = exit_code_after(end.stop_reason.value());
  } catch (const UserError& error) {
    if (error.exit_code() != ExitCode::kDiverged) throw;
    finish_summary(outcome.summary, run, files.rows(), error.what());
    write_summary(folder, outcome.summary);
    throw;
  }
  write_summary(folder, outcome.summary);
  return outcome;
}

}  // namespace

RunOutcome run_experiment(const Experiment& experiment, const RunRequest& request, Logger& logger) {
  const Prepared run = prepare(experiment, request);
  Trainer trainer(*run.model, run.dataset, trainer_options(run));  // before the folder: it may refuse what is asked
  const auto folder = make_folder(run, request);
  logger.open_file(folder / kLogFile);
  log_opening(run, folder, logger);
  return train(run, trainer, folder, request, logger);
}

}  // namespace rnnlab
