// SPDX-License-Identifier: Apache-2.0
#include "runs/sweep_file.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/error.h"
#include "base/folder.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "results/run_folder.h"
#include "runs/experiment.h"
#include "runs/plan/plan.h"
#include "runs/plan/status.h"
#include "runs/resume.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

// The number of the process distinguishes two sweeps of the same second, and O_EXCL those with the same process number.
fs::path make_new_file(const fs::path& out) {
  make_folders(out);
  const std::string name = fmt::format("sweep-{:%Y-%m-%dT%H-%M-%S}Z-{}", fmt::gmtime(std::time(nullptr)), ::getpid());
  for (int count = 1;; ++count) {
    fs::path path = out / (count == 1 ? name + ".json" : fmt::format("{}-{}.json", name, count));
    const FileDescriptor file(
        uninterrupted([&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }));
    if (file.is_open()) return path;
    if (errno != EEXIST) throw_system_error(path, "open for writing", errno);
  }
}

SweepRecord read_sweep(const fs::path& path) {
  if (path.filename() == kPlanFile)
    throw_error(ExitCode::kUsage,
                "{}: is the plan of a sweep; use `rnnlab sweep work {}`, or `rnnlab train --task K {}`", path.string(),
                shell_quoted(path.parent_path().string()), shell_quoted(path.parent_path().string()));
  constexpr int64_t kFirstVersion = 1, kMostBytes = int64_t{1} << 26;
  try {
    auto record = read_record<SweepRecord>(path, kFirstVersion, kMostBytes);
    for (SweepEntry& entry : record.runs)
      if (entry.folder) entry.folder = normalized_path(path.parent_path() / *entry.folder).string();
    return record;
  } catch (const UserError& error) {
    throw UserError(ExitCode::kUsage, error.what());
  }
}

}  // namespace

SweepFile::SweepFile(const fs::path& out, std::vector<SweepEntry> entries, std::optional<SweepRepeats> repeats)
    : path_(make_new_file(out)), lock_(path_) {
  record_.runs = std::move(entries);
  record_.repeats = std::move(repeats);
  try {
    write();
  } catch (...) {
    remove();  // an empty file could not be resumed
    throw;
  }
}

SweepFile::SweepFile(fs::path path, SweepUser user) : path_(std::move(path)) {
  if (user == SweepUser::kCommand) lock_.emplace(path_);
  reload();
}

void SweepFile::reload() { record_ = read_sweep(path_); }

void SweepFile::add_overrides(const std::vector<std::string>& more) {
  if (more.empty()) return;
  record_.overrides.insert(record_.overrides.end(), more.begin(), more.end());
  write();
}

void SweepFile::add_entries(const std::vector<SweepEntry>& more) {
  record_.runs.insert(record_.runs.end(), more.begin(), more.end());
  write();
}

void SweepFile::set_folder(size_t entry, const fs::path& folder) {
  record_.runs.at(entry).folder = normalized_path(folder).string();
  write();
}

void SweepFile::remove() const {
  std::error_code ignored;  // the run folders have the same information
  fs::remove(path_, ignored);
}

// Folders are written relative to the file, so that all may be moved together.
void SweepFile::write() const {
  const fs::path here = normalized_path(path_).parent_path();
  SweepRecord record = record_;
  for (SweepEntry& entry : record.runs)
    if (entry.folder) entry.folder = fs::path(*entry.folder).lexically_relative(here).string();
  write_record(path_, record);
}

Experiment experiment_of(const std::string& yaml, const std::string& source,
                         const std::vector<std::string>& overrides) {
  config::Findings findings;
  return read_saved_experiment(config::Document::from_text(yaml, source, findings), overrides, findings);
}

AutoLayers auto_layers_of(const std::vector<fs::path>& run_folders) {
  AutoLayers auto_layers;
  for (const fs::path& folder : run_folders) try {
      const Experiment experiment = settings_of_run(folder);
      if (experiment.auto_layer) auto_layers.remember(experiment, *experiment.auto_layer);
    } catch (const UserError&) {
      continue;
    }
  return auto_layers;
}

AutoLayers auto_layers_of(const std::vector<SweepEntry>& entries) {
  std::vector<fs::path> folders;
  for (const SweepEntry& entry : entries)
    if (entry.folder) folders.emplace_back(*entry.folder);
  return auto_layers_of(folders);
}

RunOutcome run_entry(const SweepEntry& entry, const std::string& source, const std::vector<std::string>& overrides,
                     const RunRequest& request, Logger& logger) {
  if (entry.folder && !path_exists(*entry.folder))
    logger.warn(*entry.folder + ": the folder of this run is missing; the run starts from the beginning");
  const RunState state = entry.folder ? state_of_run(*entry.folder) : RunState::kFree;
  if (state == RunState::kFree)
    return run_experiment(experiment_of(entry.experiment, source, overrides), request, logger);
  if (state == RunState::kDone && overrides.empty())
    return {.folder = *entry.folder, .summary = read_summary(*entry.folder)};
  return resume_experiment(*entry.folder, overrides, request, logger);
}

}  // namespace rnnlab
