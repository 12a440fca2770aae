// SPDX-License-Identifier: Apache-2.0
#include "runs/sweep_file.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>

#include "base/error.h"
#include "base/folder.h"
#include "base/system/files.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "results/run_folder.h"
#include "runs/experiment.h"
#include "runs/resume.h"
#include "runs/sweep/plan.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

enum class Made { kNew, kThereAlready };

Made make_empty_file(const fs::path& path) {
  const FileDescriptor file(
      uninterrupted([&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }));
  if (file.is_open()) return Made::kNew;
  if (errno == EEXIST) return Made::kThereAlready;
  throw_system_error(path, "open for writing", errno);
}

// The number of the process distinguishes two sweeps of the same second, and O_EXCL those with the same process number.
fs::path make_new_file(const fs::path& out) {
  make_folders(out);
  const std::string name = fmt::format("sweep-{:%Y-%m-%dT%H-%M-%S}Z-{}", fmt::gmtime(std::time(nullptr)), ::getpid());
  for (int count = 1;; ++count) {
    fs::path path = out / (count == 1 ? name + ".json" : fmt::format("{}-{}.json", name, count));
    if (make_empty_file(path) == Made::kNew) return path;
  }
}

}  // namespace

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

SweepFile::SweepFile(fs::path path) : path_(std::move(path)), lock_(path_), record_(read_sweep(path_)) {}

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

namespace {

// Returns false for a run that was killed before its settings were in its folder.
bool has_begun(const SweepEntry& entry, Logger& logger) {
  if (!entry.folder) return false;
  std::error_code ignored;
  if (!std::filesystem::exists(*entry.folder, ignored))
    logger.warn(*entry.folder + ": the folder of this run is missing; the run starts from the beginning");
  return std::filesystem::is_regular_file(std::filesystem::path(*entry.folder) / kConfigFile, ignored);
}

}  // namespace

Experiment experiment_of(const SweepEntry& entry, const std::string& source,
                         const std::vector<std::string>& overrides) {
  config::Findings findings;
  return read_saved_experiment(config::Document::from_text(entry.experiment, source, findings), overrides, findings);
}

std::optional<RunOutcome> ended_run(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(folder / kSummaryFile, ignored)) return std::nullopt;
  RunOutcome outcome{.folder = folder, .summary = read_summary(folder)};
  if (outcome.summary.ending != RunEnding::kComplete) return std::nullopt;
  return outcome;
}

void remember_auto_layer(const SweepEntry& entry, AutoLayers& auto_layers) {
  if (!entry.folder) return;
  try {
    config::Findings findings;
    const std::filesystem::path folder = *entry.folder;
    auto document = config::Document::from_file((folder / kConfigFile).string(), findings);
    const Experiment experiment = with_paths_beside(read_saved_experiment(std::move(document), {}, findings), folder);
    if (experiment.auto_layer) auto_layers.remember(experiment, *experiment.auto_layer);
  } catch (const UserError&) {
    return;
  }
}

RunOutcome run_entry(const SweepEntry& entry, const std::string& source, const std::vector<std::string>& overrides,
                     const RunRequest& request, Logger& logger) {
  if (!has_begun(entry, logger)) return run_experiment(experiment_of(entry, source, overrides), request, logger);
  if (overrides.empty())
    if (auto outcome = ended_run(*entry.folder)) return *std::move(outcome);
  return resume_experiment(*entry.folder, overrides, request, logger);
}

}  // namespace rnnlab
