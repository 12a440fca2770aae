#include "experiment/train_run.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "experiment/checkpoint_observer.h"
#include "experiment/device.h"
#include "experiment/run_log.h"
#include "experiment/run_observers.h"
#include "experiment/tensorboard_observer.h"
#include "experiment/trace_observer.h"
#include "experiment/training_path.h"
#include "results/bystanders.h"
#include "results/files.h"
#include "results/run_folder.h"
#include "training/stop_signal.h"

namespace rnnlab {
namespace {

template <class T>
void append(std::vector<T>& list, const std::vector<T>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

Summary begin_summary(const PreparedRun& run, const ExecutionPath& path, const EarlierPart& earlier,
                      const RunRequest& request) {
  const Experiment& e = run.experiment;
  Summary summary;
  summary.name = e.name;
  summary.device = e.device;
  summary.layer = implementation_name(e);
  summary.precision = config::name_of(e.precision);
  summary.seed = e.seed;
  summary.path = path.path;
  summary.path_notes = path.notes;
  append(summary.path_notes, run.notes);
  append(summary.path_notes, earlier.notes);
  summary.warnings = warnings(run.environment);
  for (const std::string& warning : earlier.warnings) add_once(summary.warnings, warning);
  if (e.checkpoint.save && e.checkpoint.every_steps)
    summary.warnings.emplace_back("checkpoint.every_steps: epoch times include copies of the state");
  if (request.trace_steps) summary.warnings.emplace_back("traced (--trace): the times include the tracing");
  summary.identity = run.identity;
  return summary;
}

// One that was cut short has a row, but is none.
int64_t num_whole_epochs(const PreparedRun& run, const std::vector<EpochRow>& rows) {
  const int64_t steps_per_epoch = std::max<int64_t>(run.trainer.plan().steps_per_epoch, 1);
  return std::min<int64_t>(std::ssize(rows), run.trainer.state().step / steps_per_epoch);
}

void finish_summary(Summary& summary, const PreparedRun& run, const std::vector<EpochRow>& rows, double earlier_seconds,
                    const std::string& stop_reason) {
  summary.epochs = num_whole_epochs(run, rows);
  summary.stop_reason = stop_reason;
  summary.final_metrics = final_metrics(rows);
  summary.epoch_time = epoch_time(rows);
  summary.fit_seconds = run.trainer.run_seconds();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - run.began;
  summary.total_seconds = earlier_seconds + seconds.count();
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
  return std::optional<TraceObserver>(
      std::in_place,
      TraceRequest{.file = folder / kTraceFile,
                   .num_steps = *request.trace_steps,
                   .warmup_epochs = run.trainer.state().epoch + run.experiment.training.warmup_epochs,
                   .device = run.device},
      logger);
}

RunFacts facts_of(const PreparedRun& run, const Summary& summary) {
  return {.experiment = run.experiment,
          .identity = run.identity,
          .software = run.environment.software,
          .data = run.dataset,
          .warnings = summary.warnings};
}

// Everyone who watches a run, in the order in which they are told.
class Watchers {
 public:
  Watchers(PreparedRun& run, const RunOutcome& outcome, const EarlierPart& earlier, const RunRequest& request,
           Logger& logger)
      : files_(outcome.folder, earlier.rows),
        console_(logger, request.console),
        trace_(make_trace(run, outcome.folder, request, logger)) {
    if (run.experiment.training.tensorboard) tensorboard_.emplace(outcome.folder, run, std::ssize(earlier.rows) + 1);
    if (run.experiment.checkpoint.save)
      checkpoints_.emplace(outcome.folder, facts_of(run, outcome.summary), run.trainer, [this] { sync(); });
    run.trainer.add_observer(files_);
    run.trainer.add_observer(console_);
    if (tensorboard_) run.trainer.add_observer(*tensorboard_);
    if (checkpoints_) run.trainer.add_observer(*checkpoints_);
    for (Observer* observer : request.observers) run.trainer.add_observer(*observer);
    if (trace_) run.trainer.add_observer(*trace_);
  }

  // For a run that diverged.
  void finish() {
    files_.sync();
    if (tensorboard_) tensorboard_->fail();
    if (checkpoints_) checkpoints_->finish();
    if (trace_) trace_->finish();
  }

  const std::vector<EpochRow>& rows() const { return files_.rows(); }

 private:
  void sync() {
    files_.sync();
    if (tensorboard_) tensorboard_->sync();
  }

  FileObserver files_;
  ConsoleObserver console_;
  std::optional<TensorBoardObserver> tensorboard_;
  std::optional<CheckpointObserver> checkpoints_;
  std::optional<TraceObserver> trace_;
};

// What diverged is what the user is told in the end, whatever else fails.
void finish_diverged(const RunOutcome& outcome, Watchers& watchers, Logger& logger) {
  const auto try_to = [&](const std::function<void()>& work) {
    try {
      work();
    } catch (const UserError& error) {
      logger.error(error.what());
    }
  };
  try_to([&] { write_summary(outcome.folder, outcome.summary); });
  try_to([&] { watchers.finish(); });
}

void warn_of(const Bystanders& bystanders, Summary& summary, Logger& logger) {
  for (const std::string& warning : bystanders.warnings()) {
    summary.warnings.push_back(warning);
    logger.warn(warning);
  }
}

void open_folder(const PreparedRun& run, const std::filesystem::path& folder, Logger& logger) {
  write_file_atomically(folder / kConfigFile, config::print(run.experiment, Experiment::schema()));
  write_environment(folder, run.environment);
  logger.open_file(folder / kLogFile);
  log_opening(run, folder, logger);
}

}  // namespace

void throw_if_asked_to_stop() {
  if (const auto stop = pending_stop())
    throw_error(exit_code_after(stop->reason), "{} before the training began", stop->text);
}

RunOutcome train_run(PreparedRun& run, const std::filesystem::path& folder, const EarlierPart& earlier,
                     const RunRequest& request, Logger& logger) {
  open_folder(run, folder, logger);
  log_notes(earlier.notes, logger);
  for (const std::string& warning : earlier.warnings) logger.warn(warning);
  const ExecutionPath path = observe_training_path(*run.model, run.dataset, run.options);
  log_path(path, logger);
  const auto graphs_wanted = graph_notes(run);
  log_notes(graphs_wanted, logger);
  RunOutcome outcome{.folder = folder, .summary = begin_summary(run, path, earlier, request)};
  Watchers watchers(run, outcome, earlier, request, logger);
  const Bystanders bystanders(survey_of(run.device));
  try {
    const TrainingState& end = run.trainer.run();
    finish_summary(outcome.summary, run, watchers.rows(), earlier.seconds, end.stop_text);
    warn_of(bystanders, outcome.summary, logger);
    const auto graphs = graph_notes(run);  // a capture may have failed since
    if (graphs != graphs_wanted) log_notes(graphs, logger);
    append(outcome.summary.path_notes, graphs);
    outcome.exit_code = exit_code_after(end.stop_reason.value());
  } catch (const UserError& error) {
    if (error.exit_code() != ExitCode::kDiverged) throw;
    finish_summary(outcome.summary, run, watchers.rows(), earlier.seconds, error.what());
    finish_diverged(outcome, watchers, logger);
    throw;
  }
  write_summary(folder, outcome.summary);
  return outcome;
}

}  // namespace rnnlab
