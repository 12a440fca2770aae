// SPDX-License-Identifier: Apache-2.0
// `train FILE --resume auto`: one command that starts a run, resumes it, or says that it has ended, so that a scheduler
// can repeat the command. The newest run of the experiment's name with the same settings is the one that counts. Left
// out: two of these commands at the same moment, which both may start a run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runs/sweep.h"

namespace rnnlab {

enum class SameRun {
  kNone,     // no run has these settings, or the newest one cannot be resumed
  kStopped,  // can be resumed
  kRunning,  // a process trains it
  kEnded,    // as these settings require, or past their bounds
  kDiverged
};

struct FoundRun {
  SameRun state = SameRun::kNone;
  std::filesystem::path folder = {};        // of the run; empty if there is none
  std::vector<std::string> overrides = {};  // with which a stopped run is resumed
  std::string reason = {};                  // why a new run begins, or how the run has ended
  std::string advice = {};                  // what the user can do to train longer than a run that has ended
};

// Returns the newest run in the folder of its name in `out` whose settings are those of `wanted`. Settings that may
// change on a resume need not be equal, except the last name of data.path, because other data are another run. Without
// data.path, the folder of the experiment file and the current folder count as one. `device: auto` means the device
// that it would choose here. Runs whose settings cannot be read are left out; the reason counts them. Throws UserError
// kData if the summary of the run is damaged.
FoundRun find_same_run(const ExperimentCase& wanted, const std::filesystem::path& out);

// Does what find_same_run found: run_all, resume_all, or nothing if the run has ended. Throws UserError
// kAtWorkElsewhere if another process trains the run, kDiverged if it diverged, and kUsage if a launcher started this
// process, because its processes could decide differently.
RunAllOutcome start_or_resume(const ExperimentCase& wanted, const RunRequest& request, Logger& logger);

}  // namespace rnnlab
