#include "experiment/run_experiment.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "experiment/device.h"
#include "experiment/prepared_run.h"
#include "experiment/run_log.h"
#include "experiment/run_observers.h"
#include "experiment/trace_observer.h"
#include "experiment/training_path.h"
#include "results/files.h"
#include "results/run_folder.h"
#include "training/determinism.h"
#include "training/stop_signal.h"

namespace rnnlab {
namespace {

void throw_if_asked_to_stop() {
  if (const auto stop = pending_stop())
    throw_error(exit_code_after(stop->reason), "{} before the training began", stop->text);
}

std::filesystem::path make_folder(const PreparedRun& run, const RunRequest& request) {
  const std::string layer(config::name_of(run.experiment.layer));
  const auto folder =
      create_run_folder(request.out, {run.experiment.name, device_label(run.device), layer, std::time(nullptr)});
  write_file_atomically(folder / kConfigFile, config::print(run.experiment, Experiment::schema()));
  write_environment(folder, run.environment);
  return folder;
}

Summary begin_summary(const PreparedRun& run, const ExecutionPath& path, const RunRequest& request) {
  const Experiment& e = run.experiment;
  Summary summary;
  summary.name = e.name;
  summary.device = e.device;
  summary.layer = config::name_of(e.layer);
  summary.precision = config::name_of(e.precision);
  summary.seed = e.seed;
  summary.path = path.path;
  summary.path_notes = path.notes;
  summary.path_notes.insert(summary.path_notes.end(), run.notes.begin(), run.notes.end());
  summary.warnings = warnings(run.environment);
  if (request.trace_steps) summary.warnings.emplace_back("traced (--trace): the times include the tracing");
  summary.identity = run.identity;
  return summary;
}

// One that was cut short has a row, but is none.
int64_t num_whole_epochs(const PreparedRun& run, const std::vector<EpochRow>& rows) {
  const int64_t steps_per_epoch = std::max<int64_t>(run.trainer.plan().steps_per_epoch, 1);
  return std::min<int64_t>(std::ssize(rows), run.trainer.state().step / steps_per_epoch);
}

void finish_summary(Summary& summary, const PreparedRun& run, const std::vector<EpochRow>& rows,
                    const std::string& stop_reason) {
  summary.epochs = num_whole_epochs(run, rows);
  summary.stop_reason = stop_reason;
  summary.final_metrics = final_metrics(rows);
  summary.epoch_time = epoch_time(rows);
  summary.total_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - run.began).count();
}

ExecutionPath observe_path(const PreparedRun& run) {
  seed_dropout(run.options.seed, 0);  // cuDNN seeds its dropout once, at its first use
  return observe_training_path(*run.model, run.dataset, run.options);
}

// What became of training.cuda_graph; nothing where it is off.
std::vector<std::string> graph_notes(const PreparedRun& run) {
  if (!run.experiment.training.cuda_graph) return {};
  const std::string& reason = run.trainer.why_no_graphs();
  if (reason.empty()) return {"every step is one CUDA graph (training.cuda_graph)"};
  return {fmt::format("the steps run one by one, without CUDA graphs: {}", reason)};
}

std::optional<TraceObserver> make_trace(const PreparedRun& run, const std::filesystem::path& folder,
                                        const RunRequest& request, Logger& logger) {
  if (!request.trace_steps) return std::nullopt;
  return std::optional<TraceObserver>(std::in_place,
                                      TraceRequest{.file = folder / kTraceFile,
                                                   .num_steps = *request.trace_steps,
                                                   .warmup_epochs = run.experiment.training.warmup_epochs,
                                                   .device = run.device},
                                      logger);
}

// Trains, and leaves the summary behind whether the run ends well or diverges.
RunOutcome train(PreparedRun& run, const std::filesystem::path& folder, const RunRequest& request, Logger& logger) {
  const ExecutionPath path = observe_path(run);
  log_path(path, logger);
  const auto graphs_wanted = graph_notes(run);
  log_notes(graphs_wanted, logger);
  RunOutcome outcome{.folder = folder, .summary = begin_summary(run, path, request)};
  ConsoleObserver console(logger, request.console);
  FileObserver files(folder);
  run.trainer.add_observer(files);
  run.trainer.add_observer(console);
  for (Observer* observer : request.observers) run.trainer.add_observer(*observer);
  auto trace = make_trace(run, folder, request, logger);
  if (trace) run.trainer.add_observer(*trace);
  try {
    const TrainingState& end = run.trainer.run();
    finish_summary(outcome.summary, run, files.rows(), end.stop_text);
    const auto graphs = graph_notes(run);  // a capture may have failed since
    if (graphs != graphs_wanted) log_notes(graphs, logger);
    outcome.summary.path_notes.insert(outcome.summary.path_notes.end(), graphs.begin(), graphs.end());
    outcome.exit_code = exit_code_after(end.stop_reason.value());
  } catch (const UserError& error) {
    if (error.exit_code() != ExitCode::kDiverged) throw;
    files.finish();
    if (trace) trace->finish();
    finish_summary(outcome.summary, run, files.rows(), error.what());
    write_summary(folder, outcome.summary);
    throw;
  }
  write_summary(folder, outcome.summary);
  return outcome;
}

}  // namespace

RunOutcome run_experiment(const Experiment& experiment, const RunRequest& request, Logger& logger) {
  PreparedRun run(experiment, request.command_line);
  throw_if_asked_to_stop();
  const auto folder = make_folder(run, request);
  logger.open_file(folder / kLogFile);
  log_opening(run, folder, logger);
  return train(run, folder, request, logger);
}

}  // namespace rnnlab
