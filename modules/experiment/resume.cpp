#include "experiment/resume.h"

#include <map>

#include "base/numbers.h"
#include "base/text.h"
#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/failure.h"
#include "config/document.h"
#include "data/find_data.h"
#include "experiment/prepared_run.h"
#include "experiment/run_checkpoint.h"
#include "experiment/train_run.h"
#include "results/config_values.h"
#include "results/epoch_log.h"
#include "results/files.h"
#include "results/folder_lock.h"
#include "results/run_folder.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

fs::path existing_folder(const fs::path& run_folder) {
  std::error_code error;
  fs::path folder = fs::canonical(run_folder, error);
  if (error || !fs::is_regular_file(folder / kConfigFile, error))
    throw_error(ExitCode::kUsage, "{}: no run to go on with: there is no {} in it; give the folder of a run",
                run_folder.string(), kConfigFile);
  return folder;
}

Experiment read_experiment(const fs::path& folder, const std::vector<std::string>& overrides) {
  config::Findings findings;
  auto document = config::Document::from_file((folder / kConfigFile).string(), findings);
  for (const std::string& assignment : overrides) document.apply_override(assignment, findings);
  Experiment experiment = config::read(document, Experiment::schema(), findings);
  findings.throw_if_any();
  experiment.data.path = path_beside(experiment.data, folder);
  return experiment;
}

// Whoever made the folder must not have the log written elsewhere.
void refuse_link(const fs::path& file) {
  std::error_code ignored;
  if (fs::is_symlink(file, ignored))
    throw_error(ExitCode::kDevice, "{}: is a link, expected a file; remove it", file.string());
}

// What stands in the way of going on, or was left by a process that was killed.
void tidy(const fs::path& folder) {
  refuse_link(folder / kLogFile);
  refuse_link(folder / kTraceFile);
  remove_temporary_files(folder);
}

struct Found {
  fs::path path;
  SavedRun saved;
};

// Nothing where none was ever saved.
std::optional<Found> newest_state(const fs::path& folder, std::vector<std::string>& warnings) {
  const auto latest = latest_checkpoint(folder / kCheckpointsFolder);
  for (const std::string& fault : latest.notes) warnings.push_back("a newer checkpoint is not usable: " + fault);
  if (latest.place) return Found{latest.place->path, read_saved_run(latest.place->path)};
  if (!latest.notes.empty())
    refuse_checkpoint("{}: none of {} verifies: {}", (folder / kCheckpointsFolder).string(),
                      counted(std::ssize(latest.notes), "checkpoint"), latest.notes.front());
  return std::nullopt;
}

bool may_change(const std::string& key) {
  return key == "training.epochs" || key == "training.max_steps" || key == "training.max_seconds" ||
         key == "data.path" || key.starts_with("checkpoint.");
}

std::map<std::string, std::string> values_of(const Experiment& experiment) {
  config::Findings findings;
  return config_values(
      config::Document::from_text(config::print(experiment, Experiment::schema()), kConfigFile, findings));
}

std::string value_in(const std::map<std::string, std::string>& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? "absent" : found->second;
}

void refuse_other_settings(const Found& found, const Experiment& wanted) {
  const auto then = values_of(found.saved.facts.experiment);
  const auto now = values_of(wanted);
  auto keys = then;
  keys.insert(now.begin(), now.end());
  std::vector<std::string> changes;
  for (const auto& [key, ignored] : keys)
    if (!may_change(key) && value_in(then, key) != value_in(now, key))
      changes.push_back(fmt::format("{} was {} and is {}", key, value_in(then, key), value_in(now, key)));
  if (changes.empty()) return;
  throw_error(ExitCode::kUsage,
              "{}: cannot go on with other settings: {}; only bounds (training.epochs, max_steps, max_seconds), "
              "checkpoint and data.path may change: restore these, or train anew",
              found.path.string(), join(changes, ", "));
}

void refuse_other_data(const Found& found, const PreparedRun& run) {
  const std::string& then = found.saved.facts.identity.data_fingerprint;
  const std::string& now = run.identity.data_fingerprint;
  if (then == now) return;
  refuse_checkpoint(
      "{}: the data have changed since: their SHA-256 was {}... and is {}...; restore them, or train anew",
      found.path.string(), then.substr(0, 12), now.substr(0, 12));
}

void refuse_other_tensors(const Found& found, const PreparedRun& run) {
  require_same_tensors(found.saved.snapshot.model, run.trainer.optimizer().parameters(),
                       (found.path / kModelFile).string());
  require_same_tensors(found.saved.snapshot.optimizer, run.trainer.optimizer_state(),
                       (found.path / kOptimizerFile).string());
}

// What does not forbid to go on, but leaves no bit-identical run behind.
std::vector<std::string> hardware_changes(const Identity& then, const Identity& now) {
  std::vector<std::string> changes;
  const auto note = [&](const char* what, const std::string& before, const std::string& after) {
    if (before != after)
      changes.push_back(
          fmt::format("goes on with another {}: {}, then {}; the weights may differ in their last bits "
                      "from those of a run that was never stopped",
                      what, before, after));
  };
  note("CPU", then.cpu_model, now.cpu_model);
  note("GPU", then.gpu_model, now.gpu_model);
  note("number of threads", std::to_string(then.num_threads), std::to_string(now.num_threads));
  note("build", then.build_type, now.build_type);
  note("placement of the samples", then.placement, now.placement);
  return changes;
}

std::optional<std::string> schedule_change(const Experiment& then, const Experiment& now) {
  const bool ends_with_run = now.training.schedule == ScheduleKind::kCosine && !now.training.decay_steps;
  const bool same_bounds =
      then.training.epochs == now.training.epochs && then.training.max_steps == now.training.max_steps;
  if (!ends_with_run || same_bounds) return std::nullopt;
  return "training.schedule cosine ends with the run, so the learning rate goes on as in a run with the new bounds";
}

std::string where_it_goes_on(const RunProgress& progress) {
  const TrainingState& state = progress.state;
  return fmt::format("goes on after step {}, {} epoch {}", state.step, progress.epoch_is_over ? "the end of" : "within",
                     state.epoch);
}

EarlierPart take_up(const Found& found, PreparedRun& run, const fs::path& folder) {
  refuse_other_data(found, run);
  refuse_other_tensors(found, run);
  const RunProgress& progress = found.saved.snapshot.progress;
  run.trainer.restore(found.saved.snapshot);
  run.identity.initial_weights_sha256 = found.saved.facts.identity.initial_weights_sha256;
  EarlierPart earlier{.rows = keep_epochs(folder, progress.state.epoch - (progress.epoch_is_over ? 0 : 1)),
                      .seconds = progress.seconds,
                      .notes = {where_it_goes_on(progress)},
                      .warnings = hardware_changes(found.saved.facts.identity, run.identity)};
  if (const auto change = schedule_change(found.saved.facts.experiment, run.experiment))
    earlier.warnings.push_back(*change);
  return earlier;
}

EarlierPart start_over(const fs::path& folder) {
  keep_epochs(folder, 0);
  return {.notes = {"begins anew: the run was stopped before its first checkpoint"}};
}

}  // namespace

RunOutcome resume_experiment(const fs::path& run_folder, const std::vector<std::string>& overrides,
                             const RunRequest& request, Logger& logger) {
  const fs::path folder = existing_folder(run_folder);
  const FolderLock lock(folder, WhenTaken::kRefuse);
  const Experiment wanted = read_experiment(folder, overrides);
  std::vector<std::string> warnings;
  const auto found = newest_state(folder, warnings);
  if (found) refuse_other_settings(*found, wanted);
  PreparedRun run(wanted, request.command_line, found ? WeightsFrom::kCheckpoint : WeightsFrom::kExperiment);
  throw_if_asked_to_stop();
  tidy(folder);
  EarlierPart earlier = found ? take_up(*found, run, folder) : start_over(folder);
  earlier.warnings.insert(earlier.warnings.begin(), warnings.begin(), warnings.end());
  return train_run(run, folder, earlier, request, logger);
}

}  // namespace rnnlab
