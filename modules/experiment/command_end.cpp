#include "experiment/command_end.h"

#include "base/text.h"
#include "checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"
#include "training/stop_signal.h"

namespace rnnlab {
namespace {

bool has_checkpoint(const std::filesystem::path& folder) {
  try {
    return !list_checkpoints(folder / kCheckpointsFolder).empty();
  } catch (const UserError&) {
    return false;  // what is wrong with it, whoever goes on is told
  }
}

// Empty if there is nothing to resume.
std::string advice(const RunAllOutcome& all, const SweepFile* sweep, const RunRequest& request) {
  if (sweep != nullptr) return how_to_resume(sweep->path());
  if (all.finished.empty()) return pending_stop() ? request.how_to_resume : "";  // before its first step
  const auto& folder = all.finished.back().folder;
  return has_checkpoint(folder) ? how_to_resume(folder) : "";
}

// A signal's code promises that all was saved: what failed on the way says otherwise.
bool gives_way_to_signal(ExitCode exit_code) {
  return exit_code != ExitCode::kDevice && exit_code != ExitCode::kCheckpoint && exit_code != ExitCode::kInternal;
}

}  // namespace

void keep_failure(RunAllOutcome& all, ExitCode exit_code) {
  if (all.exit_code == ExitCode::kDone) all.exit_code = exit_code;
  if (exit_code != ExitCode::kDiverged) all.can_go_on = true;
}

std::string how_to_resume(const std::filesystem::path& run_or_sweep) {
  return "to resume: rnnlab train --resume " + shell_quoted(run_or_sweep.string());
}

void end_command(RunAllOutcome& all, size_t num_left, size_t count, const SweepFile* sweep, const RunRequest& request,
                 Logger& logger) {
  if (const auto stop = pending_stop()) {
    if (num_left > 0) logger.warn(fmt::format("{}: {} of {} runs not begun", stop->text, num_left, count));
    if (gives_way_to_signal(all.exit_code)) all.exit_code = stop->exit_code;
    all.can_go_on = true;
  }
  const std::string line = all.can_go_on ? advice(all, sweep, request) : "";
  if (!line.empty()) logger.warn(line);
  if (!all.can_go_on && sweep != nullptr) sweep->remove();
}

}  // namespace rnnlab
