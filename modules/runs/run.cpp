// SPDX-License-Identifier: Apache-2.0
#include "runs/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "base/numbers.h"
#include "base/random.h"
#include "base/system/counters.h"
#include "base/system/files.h"
#include "base/text.h"
#include "layers/device/gpu_device.h"
#include "results/epoch_log.h"
#include "results/run_folder.h"
#include "results/waiting.h"
#include "results/work_settings.h"
#include "runs/devices.h"
#include "runs/failure.h"
#include "runs/observers.h"
#include "runs/opening.h"
#include "train/loop/baseline.h"
#include "train/loop/device_rates.h"
#include "train/loop/ridge.h"
#include "train/loop/stopping.h"
#include "train/models/model.h"
#include "train/models/model_graph.h"

namespace rnnlab {
namespace {

// An interrupted epoch has a row, but does not count as an epoch.
int64_t num_whole_epochs(const RunContext& run, const std::vector<EpochRow>& rows) {
  const int64_t steps_per_epoch = std::max<int64_t>(run.trainer->plan().steps_per_epoch, 1);
  return std::min<int64_t>(std::ssize(rows), run.trainer->state().step / steps_per_epoch);
}

// Each process draws its name once.
const std::string& process_name() {
  static const std::string name = random_name();
  return name;
}

Summary begin_summary(const RunContext& run, const ResumedHistory& earlier, const RunRequest& request) {
  const Experiment& e = run.experiment;
  Summary summary;
  summary.name = e.name;
  summary.device = e.device;
  summary.layer = implementation_label(e);
  summary.precision = config::name_of(e.precision);
  summary.seed = e.seed;
  summary.path = run.path.path;
  summary.path_notes = run.path.notes;
  for (const auto& notes : {run.notes, earlier.notes})
    summary.path_notes.insert(summary.path_notes.end(), notes.begin(), notes.end());
  summary.warnings = warnings(run.environment);
  for (const std::string& text : run.memory_warnings) add_once(summary.warnings, {warning::kLittleMemory, text});
  for (const auto& list : {earlier.past_warnings, earlier.warnings})
    for (const Warning& warning : list) add_once(summary.warnings, warning);
  if (e.checkpoint.save && e.checkpoint.every_steps)
    summary.warnings.emplace_back(warning::kCopiesInEpochs,
                                  "checkpoint.every_steps: epoch times include copies of the state");
  if (request.trace_steps)
    summary.warnings.emplace_back(warning::kTraced, "traced (--trace): the times include the tracing");
  summary.identity = run.identity;
  summary.settings_sha256 = settings_sha256(effective_settings(e));
  summary.environment_sha256 = environment_sha256(run.environment);
  summary.turn = request.turn;
  summary.turn.process = process_name();
  return summary;
}

void finish_summary(Summary& summary, const RunContext& run, const std::vector<EpochRow>& rows,
                    const ResumedHistory& earlier, RunEnding ending, const std::string& stop_reason) {
  summary.epochs = num_whole_epochs(run, rows);
  summary.ending = ending;
  summary.stop_reason = stop_reason;
  summary.final_metrics = final_metrics(rows);
  summary.epoch_time = epoch_time(rows);
  summary.rows_sha256 = rows_sha256(rows);
  summary.fit_seconds = run.trainer->run_seconds();
  summary.total_seconds = earlier.seconds + seconds_since(run.began);
  summary.was_resumed = earlier.seconds > 0;
  summary.target = target_record(run.experiment.training.stop_at.values, whole_epochs(rows, summary.epochs));
  if (run.experiment.training.cuda_graph) summary.has_graphs = run.trainer->why_no_graphs().empty();
}

// Returns nothing after a short fit, because measuring the best rate may take two seconds, for sequences with lengths
// of their own, whose work differs, and if the memory is too small.
std::optional<ProductWork> product_work(const RunContext& run, double fit_seconds) {
  constexpr double kShortestFit = 10;
  constexpr double kPassesOfTraining = 3;  // forward, and backward with respect to inputs and to weights
  const DataShape& shape = run.dataset.shape;
  if (fit_seconds < kShortestFit || shape.has_lengths) return std::nullopt;
  const auto num_devices = static_cast<double>(run.options.ranks->size());
  try {
    return ProductWork{.flops_per_sample = kPassesOfTraining * forward_flops(draw_model(run.experiment.model, shape)),
                       .best_flops_per_second = num_devices * best_product_rate(run.device, run.experiment.precision)};
  } catch (const c10::Error&) {
    return std::nullopt;
  }
}

int64_t epochs_before_trace(const RunContext& run) {
  return run.trainer->state().epoch + run.experiment.training.warmup_epochs;
}

std::optional<TraceObserver> make_trace(const RunContext& run, const std::filesystem::path& folder,
                                        const RunRequest& request, Logger& logger) {
  if (!request.trace_steps) return std::nullopt;
  return std::optional<TraceObserver>(std::in_place,
                                      TraceRequest{.file = folder / kTraceFile,
                                                   .num_steps = *request.trace_steps,
                                                   .warmup_epochs = epochs_before_trace(run),
                                                   .device = run.device},
                                      logger);
}

RunFacts facts_to_save(const RunContext& run, const std::vector<Warning>& warnings) {
  return {.experiment = run.experiment,
          .identity = run.identity,
          .software = run.environment.software,
          .data = run.dataset,
          .warnings = warnings};
}

// A capture can fail in the first steps only.
class StrictObserver : public Observer {
 public:
  explicit StrictObserver(const RunContext& run) : run_(run) {}
  void on_step(const StepProgress& /*progress*/) override {
    if (!run_.trainer->why_no_graphs().empty()) run_.refuse_fallbacks();
  }

 private:
  const RunContext& run_;
};

// Holds all observers of a run, in the order in which they are called: its files, the console, TensorBoard,
// checkpoints, the observers of the request, and the trace.
class RunObservers {
 public:
  // Adds the observers to the run's trainer. `warnings` are stored in the run's checkpoints; `rows` are those of
  // earlier parts of the run.
  RunObservers(RunContext& run, const std::filesystem::path& folder, const std::vector<Warning>& warnings,
               const std::vector<EpochRow>& rows, const RunRequest& request, Logger& logger);
  RunObservers(const RunObservers&) = delete;
  RunObservers& operator=(const RunObservers&) = delete;

  // Call this function for a run that diverged.
  void finish();

  void add_shares(const ProductWork& work) {
    if (tensorboard_) tensorboard_->add_shares(rows(), work);
  }

  const std::vector<EpochRow>& rows() const { return files_.rows(); }

 private:
  void sync();

  FileObserver files_;
  ConsoleObserver console_;
  std::optional<TensorBoardObserver> tensorboard_;
  std::optional<CheckpointObserver> checkpoints_;
  std::optional<TraceObserver> trace_;
  StrictObserver strict_;
};

RunObservers::RunObservers(RunContext& run, const std::filesystem::path& folder, const std::vector<Warning>& warnings,
                           const std::vector<EpochRow>& rows, const RunRequest& request, Logger& logger)
    : files_(folder, rows, asked_columns(run.experiment.training)),
      console_(logger, request.console),
      trace_(make_trace(run, folder, request, logger)),
      strict_(run) {
  if (run.experiment.training.tensorboard) tensorboard_.emplace(folder, run, std::ssize(rows) + 1);
  if (run.experiment.checkpoint.save)
    checkpoints_.emplace(folder, facts_to_save(run, warnings), *run.trainer, [this] { sync(); });
  Trainer& trainer = *run.trainer;
  trainer.add_observer(files_);
  trainer.add_observer(console_);
  if (tensorboard_) trainer.add_observer(*tensorboard_);
  if (checkpoints_) trainer.add_observer(*checkpoints_);
  for (Observer* observer : request.observers) trainer.add_observer(*observer);
  if (trace_) trainer.add_observer(*trace_);
  if (run.experiment.strict && run.experiment.training.cuda_graph) trainer.add_observer(strict_);
}

void RunObservers::finish() {
  files_.sync();
  if (tensorboard_) tensorboard_->fail();
  if (checkpoints_) checkpoints_->finish();
  if (trace_) trace_->finish();
}

void RunObservers::sync() {
  files_.sync();
  if (tensorboard_) tensorboard_->sync();
}

// The user must get the error of the divergence even if other work fails, so other failures are only logged.
void finish_diverged(const RunOutcome& outcome, RunObservers& observers, Logger& logger) {
  const auto try_to = [&](const std::function<void()>& work) {
    try {
      work();
    } catch (const UserError& error) {
      logger.error(error.what());
    }
  };
  try_to([&] { write_summary(outcome.folder, outcome.summary); });
  try_to([&] { observers.finish(); });
}

void warn_of_contention(const ContentionMonitor& contention, Summary& summary, Logger& logger) {
  for (const Warning& warning : contention.warnings()) {
    summary.warnings.push_back(warning);
    logger.warn_in_file(warning.text);
  }
}

int64_t num_ranks_here(const RunContext& run) {
  const auto& launch = this_launch();
  return launch && launch->is_one_host ? run.options.ranks->size() : 1;
}

void warn_of_waiting(const RunContext& run, const std::vector<EpochRow>& rows, Summary& summary, Logger& logger) {
  std::vector<Warning> found = waiting_warnings(rows, summary.device, run.environment.num_threads);
  for (const Warning& warning : straggler_warnings(rows)) found.push_back(warning);
  for (const Warning& warning : found) {
    add_once(summary.warnings, warning);
    logger.warn_in_file(warning.text);
  }
}

Loss loss_of(const RunContext& run) { return {run.options.settings, run.dataset, at::kCPU}; }

void log_baselines(const std::vector<Baseline>& baselines, Opening& opening) {
  std::vector<std::string> lines;
  for (const Baseline& baseline : baselines)
    lines.push_back((lines.empty() ? "baseline  " : "          ") + baseline_text(baseline));
  opening.log_block(lines);
}

void log_target(const Summary& summary, Logger& logger) {
  if (!summary.target) return;
  const TargetRecord& target = *summary.target;
  const std::string text = target_text(target.stop_at);
  logger.info(target.epoch ? fmt::format("target    {} after {} of training in {}, with warm-up and without validation",
                                         text, format_seconds(*target.train_seconds), counted(*target.epoch, "epoch"))
                           : fmt::format("target    {} was not reached", text));
}

// No model can predict noise.
bool has_noise_as_targets(const DataSettings& data) {
  return data.source == Source::kSynthetic && data.labels == Labels::kGaussian;
}

// A stopped run is not checked, because training may not have had time to learn.
void warn_of_baseline(const RunContext& run, const std::vector<EpochRow>& rows, Summary& summary, Logger& logger) {
  const TrainingState& end = run.trainer->state();
  const auto best = std::ranges::find(rows, end.best_epoch, &EpochRow::epoch);
  if (end.exit_code != ExitCode::kDone || best == rows.end() || has_noise_as_targets(run.experiment.data)) return;
  const auto warning = baseline_warning(summary.baselines, metrics_in_row(*best));
  if (!warning) return;
  add_once(summary.warnings, {warning::kNotBetterThanBaseline, *warning});
  logger.warn(*warning);
}

// A stopped run is not checked, because training may not have had time to lower the loss.
void warn_of_high_loss(const RunContext& run, const std::vector<EpochRow>& rows, Summary& summary, Logger& logger) {
  if (rows.empty() || run.trainer->state().exit_code != ExitCode::kDone) return;
  auto warning = high_loss_warning(rows.back().train_loss, loss_of_zero_outputs(loss_of(run), run.dataset));
  if (!warning) warning = grown_loss_warning(rows.front().train_loss, rows.back().train_loss);
  if (!warning) return;
  add_once(summary.warnings, {warning::kHighLoss, *warning});
  logger.warn(*warning);
}

RunEnding ending_of(const TrainingState& end) {
  return end.stop_reason == StopReason::kSignal ? RunEnding::kInterrupted : RunEnding::kComplete;
}

std::string before_first_step(const StopRequest& stop, RunKind beginning) {
  return fmt::format("{} before the first step: nothing {}was saved", stop.text,
                     beginning == RunKind::kResumed ? "new " : "");
}

void open_folder(const RunContext& run, const std::filesystem::path& folder, Opening& opening, Logger& logger) {
  write_file_atomically(folder / kConfigFile, config::print(run.experiment, Experiment::schema()));
  write_environment(folder, run.environment);
  logger.open_file(folder / kLogFile);
  opening.log_folder(folder);
  opening.log_run(run);
}

const TrainingState& run_trainer(RunContext& run, const RunRequest& request) {
  std::optional<TracedSteps> traced;
  if (request.trace_steps) traced.emplace(*request.trace_steps, epochs_before_trace(run));
  WeightsObserver weights(*run.options.ranks, *run.trainer, run.experiment.checkpoint.every_steps, traced);
  run.trainer->add_observer(weights);
  return run.trainer->run();
}

}  // namespace

RunOutcome train_on_other_rank(RunContext& run, const RunRequest& request) {
  RunOutcome outcome;
  outcome.exit_code = run_trainer(run, request).exit_code;
  return outcome;
}

RunOutcome run_as_rank(Ranks& ranks, const std::function<RunOutcome()>& work) {
  try {
    RunOutcome outcome = work();
    ranks.finish();
    return outcome;
  } catch (...) {
    const Failure failure = describe_failure(std::current_exception());
    if (!is_of_type<RankFailed>(std::current_exception())) ranks.post_failure(failure.exit_code, failure.message);
    if (ranks.claim_report(failure.message)) throw;
    if (ranks.is_cut_off()) throw ReportedBeyondNetwork(failure.exit_code, failure.message);
    throw ReportedElsewhere(failure.exit_code, failure.message);
  }
}

void throw_if_stop_requested(RunKind beginning) {
  if (const auto stop = pending_stop()) throw_error(stop->exit_code, "{}", before_first_step(*stop, beginning));
}

StopDeadline::OnDeadline stop_message_before_first_step(RunKind beginning, const RunRequest& request, Logger& logger) {
  return [beginning, &request, &logger](const StopRequest& stop) {
    logger.error(before_first_step(stop, beginning));
    if (!request.how_to_resume.empty()) logger.info(request.how_to_resume);
  };
}

RunOutcome train_run(RunContext& run, const std::filesystem::path& folder, const ResumedHistory& earlier,
                     const RunRequest& request, Logger& logger) {
  const WritingFiles writing(*run.options.ranks);
  Opening opening(logger, request.previous_run);
  open_folder(run, folder, opening, logger);
  log_notes(earlier.notes, logger);
  for (const Warning& warning : earlier.warnings) logger.warn(warning.text);
  opening.log_path(run.path);
  const auto graphs_wanted = graph_notes(run);
  log_notes(graphs_wanted, logger);
  RunOutcome outcome{.folder = folder, .summary = begin_summary(run, earlier, request)};
  outcome.summary.baselines = baselines(run.dataset, loss_of(run).kind());
  log_baselines(outcome.summary.baselines, opening);
  if (const auto note = note_on_ridge(run.dataset)) log_notes({*note}, logger);
  RunObservers observers(run, folder, outcome.summary.warnings, earlier.rows, request, logger);
  const ContentionMonitor contention(survey_of(run.environment.used_gpus), run.environment.num_threads,
                                     num_ranks_here(run));
  const auto train = [&]() -> const TrainingState& {
    const WritingPause pause(*run.options.ranks);
    return run_trainer(run, request);
  };
  try {
    const TrainingState& end = train();
    finish_summary(outcome.summary, run, observers.rows(), earlier, ending_of(end), end.stop_text);
    log_target(outcome.summary, logger);
    warn_of_contention(contention, outcome.summary, logger);
    warn_of_waiting(run, observers.rows(), outcome.summary, logger);
    warn_of_high_loss(run, observers.rows(), outcome.summary, logger);
    warn_of_baseline(run, observers.rows(), outcome.summary, logger);
    const auto graphs = graph_notes(run);  // a capture may have failed during training
    if (graphs != graphs_wanted) log_notes(graphs, logger);
    if (run.device.is_cuda())
      outcome.summary.path_notes.insert(outcome.summary.path_notes.end(), graphs.begin(), graphs.end());
    if (end.exit_code == ExitCode::kDone) outcome.summary.product_work = product_work(run, outcome.summary.fit_seconds);
    if (const auto& work = outcome.summary.product_work) observers.add_shares(*work);
    outcome.exit_code = end.exit_code;
  } catch (const UserError& error) {
    if (error.exit_code() != ExitCode::kDiverged) throw;
    finish_summary(outcome.summary, run, observers.rows(), earlier, RunEnding::kDiverged, error.what());
    finish_diverged(outcome, observers, logger);
    throw;
  }
  write_summary(folder, outcome.summary);
  return outcome;
}

namespace {

std::filesystem::path make_folder(const RunContext& run, const RunRequest& request) {
  if (!request.folder.empty()) {
    make_folders(request.folder);
    return request.folder;
  }
  const std::string layer(implementation_name(run.experiment));
  return create_run_folder(request.out, {run.experiment.name, device_label(run.device), layer, std::time(nullptr)});
}

RunOutcome run_prepared(const Experiment& experiment, const RunRequest& request, Logger& logger, Ranks& ranks) {
  std::optional<StopDeadline> deadline(std::in_place, stop_message_before_first_step(RunKind::kNew, request, logger));
  connect_gpus(ranks, experiment);
  RunContext run(experiment_for_rank(experiment, ranks), request.command_line, WeightsFrom::kExperiment,
                 request.auto_layers, ranks);
  require_same_run(ranks, run);
  record_ranks(ranks, run.environment);
  note_exchange(run);
  deadline.reset();
  throw_if_stop_requested(RunKind::kNew);
  if (!ranks.is_first()) return train_on_other_rank(run, request);
  const auto folder = make_folder(run, request);
  const FolderLock lock(folder, WhenTaken::kRefuse);
  if (!lock.warning().empty()) logger.warn(lock.warning());
  if (request.on_folder) request.on_folder(folder);
  return train_run(run, folder, {}, request, logger);
}

}  // namespace

RunOutcome run_experiment(const Experiment& experiment, const RunRequest& request, Logger& logger) {
  RNNLAB_INVARIANT(!needs_ranks(experiment), "a run of several processes was started in one process");
  report_once([] { throw_if_stop_requested(RunKind::kNew); }, experiment.distributed.interface);
  const std::shared_ptr<Ranks> ranks = join_ranks(experiment);
  return run_as_rank(*ranks, [&] { return run_prepared(experiment, request, logger, *ranks); });
}

}  // namespace rnnlab
