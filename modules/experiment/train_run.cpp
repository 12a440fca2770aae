#include "experiment/train_run.h"

#include <functional>
#include <memory>
#include <optional>

#include "base/text.h"
#include "experiment/device.h"
#include "experiment/failure.h"
#include "experiment/run_log.h"
#include "experiment/run_ranks.h"
#include "experiment/run_summary.h"
#include "experiment/watchers.h"
#include "results/bystanders.h"
#include "results/files.h"
#include "results/run_folder.h"
#include "results/straggler.h"
#include "results/waiting.h"
#include "training/divergence.h"

namespace rnnlab {
namespace {

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
  for (const Warning& warning : bystanders.warnings()) {
    summary.warnings.push_back(warning);
    logger.warn(warning.text);
  }
}

int64_t num_ranks_here(const PreparedRun& run) {
  return run.options.ranks != nullptr && launch_here()->is_one_host ? run.options.ranks->size() : 1;
}

void warn_of_waiting(const PreparedRun& run, const std::vector<EpochRow>& rows, Summary& summary, Logger& logger) {
  std::vector<Warning> found = waiting_warnings(rows, summary.device, run.environment.num_threads);
  for (const Warning& warning : straggler_warnings(rows)) found.push_back(warning);
  for (const Warning& warning : found) {
    add_once(summary.warnings, warning);
    logger.warn(warning.text);
  }
}

// A signal may have come before training could lower the loss.
void warn_of_high_loss(const PreparedRun& run, const std::vector<EpochRow>& rows, Summary& summary, Logger& logger) {
  if (rows.empty() || run.trainer.state().exit_code != ExitCode::kDone) return;
  const Objective objective(run.options.settings.loss, run.dataset, run.device);
  const auto warning = high_loss_warning(rows.back().train_loss, loss_of_zeros(objective.loss(), run.dataset));
  if (!warning) return;
  add_once(summary.warnings, {warning::kHighLoss, *warning});
  logger.warn(*warning);
}

RunEnding ending_of(const TrainingState& end) {
  return end.stop_reason == StopReason::kSignal ? RunEnding::kInterrupted : RunEnding::kComplete;
}

std::string before_first_step(const StopRequest& stop, Beginning beginning) {
  return fmt::format("{} before the first step: nothing {}was saved", stop.text,
                     beginning == Beginning::kResumed ? "new " : "");
}

void open_folder(const PreparedRun& run, const std::filesystem::path& folder, Logger& logger) {
  write_file_atomically(folder / kConfigFile, config::print(run.experiment, Experiment::schema()));
  write_environment(folder, run.environment);
  logger.open_file(folder / kLogFile);
  log_opening(run, folder, logger);
}

const TrainingState& run_trainer(PreparedRun& run, const RunRequest& request) {
  if (run.options.ranks == nullptr) return run.trainer.run();
  WeightsObserver weights(*run.options.ranks, run.trainer,
                          {run.experiment.checkpoint.every_steps, request.trace_steps.has_value()});
  run.trainer.add_observer(weights);
  return run.trainer.run();
}

// The first one writes files until now, and a launcher may end it once another has ended.
void wait_for_end(Ranks& ranks) {
  try {
    ranks.gather_texts("end");
  } catch (const RankFailed&) {  // of one that has written all that it had to
    return;
  }
}

}  // namespace

RunOutcome train_beside_first(PreparedRun& run, const RunRequest& request) {
  RunOutcome outcome;
  outcome.exit_code = run_trainer(run, request).exit_code;
  return outcome;
}

RunOutcome as_rank(Ranks* ranks, const std::function<RunOutcome()>& work) {
  if (ranks == nullptr) return work();
  try {
    RunOutcome outcome = work();
    wait_for_end(*ranks);
    return outcome;
  } catch (...) {
    const Failure failure = describe_failure(std::current_exception());
    if (!is_of_type<RankFailed>(std::current_exception())) ranks->tell_failure(failure.exit_code, failure.message);
    if (ranks->is_to_tell(failure.message)) throw;
    throw ToldElsewhere(failure.exit_code, failure.message);
  }
}

void throw_if_asked_to_stop(Beginning beginning) {
  if (const auto stop = pending_stop()) throw_error(stop->exit_code, "{}", before_first_step(*stop, beginning));
}

StopDeadline::LastWords words_before_first_step(Beginning beginning, const RunRequest& request, Logger& logger) {
  return [beginning, &request, &logger](const StopRequest& stop) {
    logger.error(before_first_step(stop, beginning));
    if (!request.how_to_resume.empty()) logger.warn(request.how_to_resume);
  };
}

RunOutcome train_run(PreparedRun& run, const std::filesystem::path& folder, const EarlierPart& earlier,
                     const RunRequest& request, Logger& logger) {
  auto writing = std::make_unique<WritingFiles>(run.options.ranks);
  open_folder(run, folder, logger);
  log_notes(earlier.notes, logger);
  for (const Warning& warning : earlier.warnings) logger.warn(warning.text);
  log_path(run.path, logger);
  const auto graphs_wanted = graph_notes(run);
  log_notes(graphs_wanted, logger);
  RunOutcome outcome{.folder = folder, .summary = begin_summary(run, earlier, request)};
  Watchers watchers(run, folder, outcome.summary.warnings, earlier.rows, request, logger);
  const Bystanders bystanders(survey_of(run.device), run.environment.num_threads, num_ranks_here(run));
  try {
    writing.reset();
    const TrainingState& end = run_trainer(run, request);
    writing = std::make_unique<WritingFiles>(run.options.ranks);
    finish_summary(outcome.summary, run, watchers.rows(), earlier, ending_of(end), end.stop_text);
    warn_of(bystanders, outcome.summary, logger);
    warn_of_waiting(run, watchers.rows(), outcome.summary, logger);
    warn_of_high_loss(run, watchers.rows(), outcome.summary, logger);
    const auto graphs = graph_notes(run);  // a capture may have failed since
    if (graphs != graphs_wanted) log_notes(graphs, logger);
    outcome.summary.path_notes.insert(outcome.summary.path_notes.end(), graphs.begin(), graphs.end());
    outcome.exit_code = end.exit_code;
  } catch (const UserError& error) {
    if (error.exit_code() != ExitCode::kDiverged) throw;
    writing = std::make_unique<WritingFiles>(run.options.ranks);
    finish_summary(outcome.summary, run, watchers.rows(), earlier, RunEnding::kDiverged, error.what());
    finish_diverged(outcome, watchers, logger);
    throw;
  }
  write_summary(folder, outcome.summary);
  return outcome;
}

}  // namespace rnnlab
