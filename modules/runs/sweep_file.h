// SPDX-License-Identifier: Apache-2.0
// One file lists the runs of a sweep and their folders, so that a stopped sweep can be resumed. The file is in the
// folder of the runs: <out>/sweep-<start time>-<process>.json. If a name is taken, -2, -3 and so on is appended,
// because processes in different containers may have the same number. The file is replaced atomically whenever a run
// gets its folder, and removed when every run has had its turn. One process at a time works on a sweep.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/system/files.h"
#include "base/system/locks.h"
#include "runs/run.h"

namespace rnnlab {

struct SweepEntry {
  std::string label;                  // "device=cpu layer=naive"
  std::string experiment;             // as YAML
  std::optional<std::string> folder;  // of the run, absolute; empty before it has one
  int64_t case_number = 0;            // from 1
  int64_t round = 0;                  // from 1; 0 without repeats
  int64_t position = 0;               // within the round, from 1

  RNNLAB_FIELDS(label, experiment, folder, since<3>(case_number), since<3>(round), since<3>(position))
};

// Holds the facts that are needed to resume a sweep with repeats.
struct SweepRepeats {
  std::string measurement;                // a random name; the order of the runs follows from it (round_order.h)
  std::vector<int64_t> at_most;           // rounds, of each case
  std::optional<double> until;            // base/config/sweep.h
  std::vector<std::string> command_line;  // for environment.json

  RNNLAB_FIELDS(measurement, at_most, until, command_line)
};

struct SweepRecord {
  int64_t schema_version = kFileVersion;
  std::vector<SweepEntry> runs;
  std::vector<std::string> overrides;
  std::optional<SweepRepeats> repeats;

  RNNLAB_FIELDS(schema_version, runs, overrides, since<3>(repeats))
};

// The process of a run writes for the command that holds the lock and waits for it.
enum class SweepUser { kCommand, kRunOfCommand };

class SweepFile {
 public:
  // Creates a new file in `out`, and `out` itself if it is missing. Throws UserError kDevice.
  SweepFile(const std::filesystem::path& out, std::vector<SweepEntry> entries,
            std::optional<SweepRepeats> repeats = std::nullopt);

  // Opens an existing file. Throws UserError kUsage if the file is not a valid sweep, kDevice if another command works
  // on the file.
  explicit SweepFile(std::filesystem::path path, SweepUser user = SweepUser::kCommand);

  const std::filesystem::path& path() const { return path_; }
  std::string lock_warning() const { return lock_ ? lock_->warning() : ""; }
  const std::vector<SweepEntry>& entries() const { return record_.runs; }
  const std::optional<SweepRepeats>& repeats() const { return record_.repeats; }

  // Returns the overrides of all commands that resumed the sweep, in their order; they also apply to runs that have not
  // begun.
  const std::vector<std::string>& overrides() const { return record_.overrides; }

  // These functions throw UserError kDevice.
  void add_overrides(const std::vector<std::string>& more);
  void add_entries(const std::vector<SweepEntry>& more);
  void set_folder(size_t entry, const std::filesystem::path& folder);
  void remove() const;

  // Reads what the process of a run has written. Throws UserError kUsage if the file is not a valid sweep.
  void reload();

 private:
  void write() const;

  std::filesystem::path path_;
  std::optional<FileLock> lock_;
  SweepRecord record_;
};

// Returns the choices of `layer: auto` in those of these run folders that a run has begun in; other runs get the same.
// If the settings of a run cannot be read, the error is reported when that run begins.
AutoLayers auto_layers_of(const std::vector<std::filesystem::path>& run_folders);
AutoLayers auto_layers_of(const std::vector<SweepEntry>& entries);

// Reads an experiment of a sweep's file or a plan; `source` names the file in messages; `overrides` work as in
// resume_experiment.
Experiment experiment_of(const std::string& yaml, const std::string& source, const std::vector<std::string>& overrides);

// Runs one run of a sweep's file: begins it, resumes it if it was stopped, or only reports it if it has ended as its
// settings require. Throws the errors of run_experiment and resume_experiment.
RunOutcome run_entry(const SweepEntry& entry, const std::string& source, const std::vector<std::string>& overrides,
                     const RunRequest& request, Logger& logger);

}  // namespace rnnlab
