// SPDX-License-Identifier: Apache-2.0
#include "runs/resume.h"

#include <utility>

#include "base/config/document.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "base/system/locks.h"
#include "base/text.h"
#include "results/checkpoint/checkpoint.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/checkpoint/safetensors.h"
#include "results/epoch_log.h"
#include "results/run_folder.h"
#include "results/run_record.h"
#include "runs/child_process.h"
#include "runs/devices.h"
#include "runs/experiment.h"
#include "runs/machine_report.h"
#include "runs/run_context.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

fs::path existing_folder(const fs::path& run_folder) {
  if (!path_exists(run_folder))
    throw_error(ExitCode::kUsage, "{}: is missing; {}", run_folder.string(),
                run_folder.extension() == ".json" ? "the file of a sweep is removed when all of its runs have ended"
                                                  : "pass the folder of a run");
  std::error_code error;
  fs::path folder = fs::canonical(run_folder, error);
  if (error || !is_file(folder / kConfigFile))
    throw_error(ExitCode::kUsage, "{}: cannot be resumed, because it contains no {}; pass the folder of a run",
                run_folder.string(), kConfigFile);
  return folder;
}

// A folder from an unknown source must not redirect the log to a different place, or to a pipe that nobody reads.
void require_regular_file(const fs::path& file) {
  std::error_code ignored;
  const fs::file_type type = fs::symlink_status(file, ignored).type();
  if (type == fs::file_type::regular || type == fs::file_type::not_found) return;
  const bool is_link = type == fs::file_type::symlink;
  throw_error(ExitCode::kDevice, "{}: is {}, expected a file; remove it", file.string(),
              is_link ? "a link" : "a folder, pipe or device");
}

// Rejects files that prevent resuming, and removes files that a killed process has left.
void clean_run_folder(const fs::path& folder) {
  require_regular_file(folder / kLogFile);
  require_regular_file(folder / kTraceFile);
  remove_temporary_files(folder);
}

struct LatestState {
  fs::path path;
  SavedRun saved;
};

// Returns nothing if no checkpoint was ever saved.
std::optional<LatestState> latest_state(const fs::path& folder, std::vector<Warning>& warnings) {
  const auto latest = latest_checkpoint(folder / kCheckpointsFolder);
  for (const std::string& fault : latest.notes)
    warnings.emplace_back(warning::kCheckpointUnusable, "a newer checkpoint is not usable: " + fault);
  if (latest.place) return LatestState{latest.place->path, read_saved_run(latest.place->path)};
  if (!latest.notes.empty())
    throw_checkpoint_error("{}: none of {} is valid: {}", (folder / kCheckpointsFolder).string(),
                           counted(std::ssize(latest.notes), "checkpoint"), latest.notes.front());
  return std::nullopt;
}

bool may_change(const std::string& key) {
  return Experiment::schema().spec().may_change(key, config::Change::kOnResume);
}

std::string what_may_change() {
  return fmt::format("only {} may change",
                     join_with_and(Experiment::schema().spec().changeable_keys(config::Change::kOnResume)));
}

}  // namespace

Experiment settings_of_run(const fs::path& run_folder, const std::vector<std::string>& overrides) {
  config::Findings findings;
  auto document = config::Document::from_file((run_folder / kConfigFile).string(), findings);
  return with_paths_beside(read_saved_experiment(std::move(document), overrides, findings), run_folder);
}

std::vector<std::string> changes_against_resume(const Experiment& before, const Experiment& wanted) {
  const auto then = effective_settings(before);
  const auto now = effective_settings(wanted);
  auto keys = then;
  keys.insert(now.begin(), now.end());
  std::vector<std::string> changes;
  for (const auto& [key, ignored] : keys)
    if (!may_change(key) && value_or_absent(then, key) != value_or_absent(now, key))
      changes.push_back(fmt::format("{} was {} and is {}", key, value_or_absent(then, key), value_or_absent(now, key)));
  return changes;
}

std::string how_to_train_on(StopReason reason, const TrainingSettings& training) {
  switch (reason) {
    case StopReason::kEpochs:
      return fmt::format("add training.epochs=N with N above {}", training.epochs);
    case StopReason::kSteps:
      return fmt::format("add training.max_steps=N with N above {}", training.max_steps.value_or(0));
    case StopReason::kSeconds:
      return fmt::format("add training.max_seconds=N with N above {:g}", training.max_seconds.value_or(0));
    default:
      return "start a new run with other settings";
  }
}

bool has_checkpoint(const fs::path& run_folder) {
  try {
    return !list_checkpoints(run_folder / kCheckpointsFolder).empty();
  } catch (const UserError&) {
    return false;
  }
}

namespace {

void require_same_settings(const fs::path& source, const Experiment& before, const Experiment& wanted) {
  const std::vector<std::string> changes = changes_against_resume(before, wanted);
  if (changes.empty()) return;
  throw_error(ExitCode::kUsage, "{}: cannot resume with different settings: {}; {}: restore these, or start a new run",
              source.string(), join(changes, ", "), what_may_change());
}

// If there is no checkpoint, config.yaml alone has the settings of the run.
void require_same_settings(const std::optional<LatestState>& found, const fs::path& folder, const Experiment& wanted) {
  if (found) return require_same_settings(found->path, found->saved.facts.experiment, wanted);
  require_same_settings(folder, settings_of_run(folder), wanted);
}

void require_same_data(const LatestState& found, const RunContext& run) {
  const std::string& then = found.saved.facts.identity.data_fingerprint;
  const std::string& now = run.identity.data_fingerprint;
  if (then == now) return;
  const std::string& before = found.saved.facts.software.rnnlab;
  const std::string& after = run.environment.software.rnnlab;
  if (before != after)
    throw_checkpoint_error(
        "{}: the data have changed since, or rnnlab {} reads them in a different way than {}: their SHA-256 was {}... "
        "and is {}...; start a new run",
        found.path.string(), after, before, then.substr(0, 12), now.substr(0, 12));
  throw_checkpoint_error(
      "{}: the data have changed since: their SHA-256 was {}... and is {}...; restore them, or start a new run",
      found.path.string(), then.substr(0, 12), now.substr(0, 12));
}

// Mapped inputs give the results of inputs in memory bit for bit, but they are always on the host.
bool only_memory_changed(const DataSettings& then, const DataSettings& now) {
  return then.memory != now.memory && then.placement == now.placement;
}

// Returns the changes with which a run can be resumed, but after which its results are not bit-identical.
std::vector<std::string> environment_changes(const RunFacts& saved, const RunContext& run) {
  const Identity& then = saved.identity;
  const Identity& now = run.identity;
  const SoftwareVersions& software = run.environment.software;
  std::vector<std::string> changes;
  const auto note = [&](const char* what, const std::string& before, const std::string& after) {
    if (before != after)
      changes.push_back(
          fmt::format("resumes with a different {}: {}, then {}; the weights may differ in their last bits from those "
                      "of an uninterrupted run",
                      what, before, after));
  };
  note("CPU", then.cpu_model, now.cpu_model);
  note("GPU", then.gpu_model, now.gpu_model);
  note("number of threads", std::to_string(then.num_threads), std::to_string(now.num_threads));
  note("build", then.build_type, now.build_type);
  if (!only_memory_changed(saved.experiment.data, run.experiment.data))
    note("placement of the samples", then.placement, now.placement);
  note("version of rnnlab", saved.software.rnnlab, software.rnnlab);
  note("LibTorch", saved.software.libtorch, software.libtorch);
  note("CUDA", saved.software.cuda, software.cuda);
  note("cuDNN", saved.software.cudnn, software.cudnn);
  for (const UnequalCondition& one : unequal_conditions(then.conditions, now.conditions))
    if (one.on_unequal != OnUnequal::kNote) note(one.what, one.first, one.second);
  return changes;
}

std::optional<std::string> devices_change(const Experiment& then, const Experiment& now) {
  const int64_t before = then.devices.value_or(1), after = now.devices.value_or(1);
  if (before == after) return std::nullopt;
  std::string what =
      fmt::format("resumes with {} but ran with {} before, so its times do not describe either number of devices",
                  counted(after, "process"), before);
  if (now.training.shards) return what;
  return what + "; sums are rounded in a different order, and dropout draws different masks";
}

std::optional<std::string> schedule_change(const Experiment& then, const Experiment& now) {
  const bool ends_with_run = info_of(now.training.schedule).lasts_to_the_end && !now.training.decay_steps;
  const bool same_bounds =
      then.training.epochs == now.training.epochs && then.training.max_steps == now.training.max_steps;
  if (!ends_with_run || same_bounds) return std::nullopt;
  return fmt::format(
      "training.schedule {} ends with the run, so the learning rate continues as in a run with the new bounds",
      config::name_of(now.training.schedule));
}

std::string resume_point(const RunProgress& progress) {
  const TrainingState& state = progress.state;
  return fmt::format("resumes after step {}, {} epoch {}", state.step, progress.epoch_is_over ? "the end of" : "within",
                     state.epoch);
}

// Epochs that were timed on a different machine are excluded from the statistics.
void exclude_from_timing(std::vector<EpochRow>& rows) {
  for (EpochRow& row : rows) row.warmup = true;
}

// config.yaml is left out, because the user may change bounds in it. Errors of damaged files are reported where they
// are read again.
std::vector<Warning> edits_since_end(const fs::path& folder) {
  try {
    std::vector<Warning> changes = load_run(folder).changed;
    std::erase_if(changes, [](const Warning& change) { return change.kind == warning::kEditedConfig; });
    return changes;
  } catch (const UserError&) {
    return {};
  }
}

// Returns the warnings from after the last checkpoint, for example that the machine was shared.
std::vector<Warning> warnings_of_summary(const fs::path& folder) {
  if (!path_exists(folder / kSummaryFile)) return {};
  std::vector<Warning> found = read_summary(folder).warnings;
  for (const Warning& change : edits_since_end(folder)) add_once(found, change);
  return found;
}

// Nothing in the folder changes before everything is checked.
ResumedHistory restore_state(LatestState found, RunContext& run, const fs::path& folder) {
  require_same_data(found, run);
  require_resumable(found.saved, *run.trainer, run.device, found.path);
  const RunProgress progress = found.saved.snapshot.progress;
  const int64_t num_whole_epochs = progress.state.epoch - (progress.epoch_is_over ? 0 : 1);
  auto changes = environment_changes(found.saved.facts, run);
  const auto other_devices = devices_change(found.saved.facts.experiment, run.experiment);
  ResumedHistory earlier{.rows = read_first_epochs(folder, num_whole_epochs),
                         .seconds = progress.seconds,
                         .notes = {resume_point(progress)},
                         .past_warnings = found.saved.facts.warnings};
  if (!changes.empty() || other_devices) exclude_from_timing(earlier.rows);
  for (const Warning& warning : warnings_of_summary(folder)) add_once(earlier.past_warnings, warning);
  for (const std::string& change : changes) add_once(earlier.warnings, {warning::kOtherMachine, change});
  if (other_devices) add_once(earlier.warnings, {warning::kDevicesChanged, *other_devices});
  if (const auto change = schedule_change(found.saved.facts.experiment, run.experiment))
    add_once(earlier.warnings, {warning::kScheduleChanged, *change});
  run.identity.initial_weights_sha256 = found.saved.facts.identity.initial_weights_sha256;
  run.trainer->restore(std::move(found.saved.snapshot));
  return earlier;
}

ResumedHistory restart_history(const fs::path& folder) {
  if (path_exists(folder / kSummaryFile))
    throw_checkpoint_error("{}: the run has ended and left no checkpoint to resume from; start a new run with its {}",
                           folder.string(), kConfigFile);
  return {.notes = {"starts from the beginning: the run was stopped before its first checkpoint"}};
}

void remove_best_mark(const fs::path& checkpoints, const std::string& reason, std::vector<Warning>& warnings) {
  const FolderLock lock(checkpoints, WhenTaken::kWait);
  remove_file(checkpoints / kBestFile);
  warnings.emplace_back(warning::kBestForgotten, "the mark of the best checkpoint was removed: " + reason);
}

// A mark that cannot be read would end the run when checkpoints are removed next. A mark of a later step than the
// resumed one would point to whichever checkpoint is written at that step.
void resolve_best_mark(const fs::path& checkpoints, const RunContext& run, std::vector<Warning>& warnings) {
  std::optional<CheckpointPlace> marked;
  try {
    marked = best_checkpoint(checkpoints);
  } catch (const UserError& error) {
    return remove_best_mark(checkpoints, error.what(), warnings);
  }
  const TrainingState& state = run.trainer->state();
  if (!marked || marked->step <= state.step) return;
  const int64_t best_until_now = state.best_epoch * run.trainer->plan().steps_per_epoch;
  for (const CheckpointPlace& place : list_checkpoints(checkpoints))
    if (place.step == best_until_now) return mark_best_checkpoint(checkpoints, place.step);
  remove_best_mark(
      checkpoints,
      fmt::format("it pointed to step {}, and the checkpoint of step {} is missing", marked->step, best_until_now),
      warnings);
}

// The resumed run has not ended, and its log must have only the epochs before the resume.
void truncate_logs(const fs::path& folder, const ResumedHistory& earlier) {
  remove_file(folder / kSummaryFile);
  sync_folder(folder);
  rewrite_epochs(folder, earlier.rows);
}

// If the bounds are already reached and the summary exists, nothing is trained and no file changes.
std::optional<RunOutcome> finished_outcome(const RunContext& run, const fs::path& folder, Logger& logger) {
  const TrainingState& state = run.trainer->state();
  if (!state.stopped() || !is_file(folder / kSummaryFile)) return std::nullopt;
  logger.info(fmt::format("{}: nothing to resume: {}; to train on, {}", folder.string(), state.stop_text,
                          how_to_train_on(*state.stop_reason, run.experiment.training)));
  return RunOutcome{.folder = folder, .summary = read_summary(folder)};
}

}  // namespace

void require_resumable(const SavedRun& saved, const Trainer& trainer, c10::Device device, const fs::path& checkpoint) {
  const Snapshot& snapshot = saved.snapshot;
  require_same_tensors(snapshot.model, trainer.optimizer().parameters(), (checkpoint / kModelFile).string());
  require_same_tensors(snapshot.optimizer, trainer.optimizer_state(), (checkpoint / kOptimizerFile).string());
  const std::string file = (checkpoint / kStateFile).string();
  if (const std::string fault = invalid_reason(snapshot.progress, trainer.plan().steps_per_epoch); !fault.empty())
    throw_checkpoint_error("{}: its progress is impossible: {}", file, fault);
  try {
    set_generator_states(snapshot.generators, device);
  } catch (const UserError& error) {
    throw_checkpoint_error("{}: {}", file, error.what());
  }
}

void require_changeable_keys(const std::vector<std::string>& overrides) {
  for (const std::string& assignment : overrides)
    if (!may_change(assignment.substr(0, assignment.find('='))))
      throw_error(ExitCode::kUsage, "argument {}: cannot resume with different settings: {}", in_quotes(assignment),
                  what_may_change());
}

namespace {

// A run of a measurement that is resumed alone keeps its round.
Turn saved_turn(const fs::path& folder) { return is_file(folder / kSummaryFile) ? read_summary(folder).turn : Turn(); }

// A later version refuses data that an earlier one accepted, and what its message advises may be fixed for the run.
RunContext context_of(const std::optional<LatestState>& found, const Experiment& wanted, const RunRequest& request,
                      Ranks& ranks) {
  try {
    return RunContext(experiment_for_rank(wanted, ranks), request.command_line,
                      found ? WeightsFrom::kCheckpoint : WeightsFrom::kExperiment, request.auto_layers, ranks);
  } catch (const UserError& error) {
    const std::string before = found ? found->saved.facts.software.rnnlab : "", now = software_versions().rnnlab;
    if (error.exit_code() != ExitCode::kData || before.empty() || before == now) throw;
    throw_error(ExitCode::kData,
                "{}; the run is of rnnlab {}, which may have accepted these data, and this is {}: if the run cannot be "
                "resumed, start a new one",
                error.what(), before, now);
  }
}

RunOutcome resume_in_folder(const fs::path& folder, const Experiment& wanted, const RunRequest& request, Logger& logger,
                            Ranks& ranks) {
  std::optional<StopDeadline> deadline(std::in_place,
                                       stop_message_before_first_step(RunKind::kResumed, request, logger));
  const auto lock = ranks.on_first([&] { return std::make_unique<FolderLock>(folder, request.when_taken); });
  if (lock && !lock->warning().empty()) logger.warn(lock->warning());
  std::vector<Warning> warnings;
  auto found = latest_state(folder, warnings);
  require_same_settings(found, folder, wanted);
  connect_gpus(ranks, wanted);
  RunContext run = context_of(found, wanted, request, ranks);
  ResumedHistory earlier =
      found ? restore_state(*std::exchange(found, std::nullopt), run, folder) : restart_history(folder);
  require_same_run(ranks, run);
  record_ranks(ranks, run.environment);
  if (auto outcome = finished_outcome(run, folder, logger)) return *std::move(outcome);
  note_exchange(run);
  deadline.reset();
  throw_if_stop_requested(RunKind::kResumed);
  if (!ranks.is_first()) return train_on_other_rank(run, request);
  clean_run_folder(folder);
  resolve_best_mark(folder / kCheckpointsFolder, run, warnings);
  truncate_logs(folder, earlier);
  for (const Warning& warning : warnings) add_once(earlier.warnings, warning);
  return train_run(run, folder, earlier, request, logger);
}

}  // namespace

std::optional<RunOutcome> resume_by_ranks(const fs::path& run_folder, const std::vector<std::string>& overrides,
                                          const RunRequest& request) {
  const fs::path folder = existing_folder(run_folder);
  const Experiment wanted = settings_of_run(folder, overrides);
  if (!needs_ranks(wanted)) return std::nullopt;
  std::vector<std::string> arguments = {"train", "--run-of-book", folder.string(), "0"};
  for (const auto& more : {overrides, request.child_arguments})
    arguments.insert(arguments.end(), more.begin(), more.end());
  RunOutcome outcome{.folder = folder, .summary = {}};
  outcome.exit_code = run_processes(wanted, kThisProgram, arguments);
  const bool has_summary = is_file(folder / kSummaryFile);
  const bool refused_lock = outcome.exit_code == ExitCode::kDevice && is_locked(folder);
  if (refused_lock && request.when_taken == WhenTaken::kRefuseAtWork) outcome.exit_code = ExitCode::kAtWorkElsewhere;
  if (outcome.exit_code != ExitCode::kDone && !(has_summary && is_stop_exit_code(outcome.exit_code)))
    throw_error(outcome.exit_code, "{}: its processes ended with exit code {}; the reason is above", folder.string(),
                static_cast<int>(outcome.exit_code));
  if (has_summary) outcome.summary = read_summary(folder);
  return outcome;
}

RunOutcome resume_experiment(const fs::path& run_folder, const std::vector<std::string>& overrides,
                             const RunRequest& request, Logger& logger) {
  fs::path folder;
  Experiment wanted;
  report_once([&] {
    folder = existing_folder(run_folder);
    throw_if_stop_requested(RunKind::kResumed);
    wanted = settings_of_run(folder, overrides);
  });
  RNNLAB_INVARIANT(!needs_ranks(wanted), "a run of several processes was started in one process");
  const std::shared_ptr<Ranks> ranks = join_ranks(wanted);
  RunRequest resume_request = request;
  if (resume_request.turn.measurement.empty()) resume_request.turn = saved_turn(folder);
  return run_as_rank(*ranks, [&] { return resume_in_folder(folder, wanted, resume_request, logger, *ranks); });
}

}  // namespace rnnlab
