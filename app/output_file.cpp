#include "output_file.h"

#include <algorithm>
#include <array>
#include <regex>

#include "base/error.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "results/files.h"
#include "results/run_folder.h"

namespace rnnlab::app {
namespace {

namespace fs = std::filesystem;

bool is_run_folder(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kConfigFile, ignored);
}

bool is_of_a_run(const fs::path& file) {
  constexpr std::array<std::string_view, 7> kOwn = {kConfigFile,  kEnvironmentFile, kEpochsCsvFile, kEpochsJsonlFile,
                                                    kSummaryFile, kLogFile,         kTraceFile};
  const std::string name = file.filename().string();
  const bool is_own = std::ranges::find(kOwn, name) != kOwn.end() || name.starts_with("events.out.tfevents.");
  const fs::path folder = file.parent_path();
  const bool is_among_checkpoints = folder.filename() == kCheckpointsFolder && is_run_folder(folder.parent_path());
  return is_among_checkpoints || (is_own && is_run_folder(folder));
}

// One that is there: of a sweep, or a lock.
bool is_in_use_by_runs(const fs::path& file) {
  static const std::regex kNames(R"(sweep-[-0-9T]+Z-[-0-9]+\.json|\..*\.lock)");
  std::error_code ignored;
  return fs::exists(file, ignored) && std::regex_match(file.filename().string(), kNames);
}

bool is_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kManifestFile, ignored);
}

void refuse_what_is_read(const fs::path& out, const std::vector<fs::path>& inputs) {
  std::error_code ignored;
  for (const fs::path& input : inputs)
    if (!input.empty() && fs::equivalent(out, input, ignored))
      throw_error(ExitCode::kUsage, "{}: is what is read, and would be lost; name another file to write", out.string());
}

}  // namespace

void require_harmless_output(const fs::path& out, std::string_view advice, const std::vector<fs::path>& inputs) {
  if (out.empty()) return;
  refuse_what_is_read(out, inputs);
  if (is_run_folder(out.parent_path())) refuse_link(out);
  const fs::path file = resolve_output_file(out, advice);
  if (is_of_a_run(file) || is_in_use_by_runs(file) || is_checkpoint(file.parent_path()))
    throw_error(ExitCode::kUsage, "{}: belongs to a run, which it would damage; name another file to write",
                out.string());
}

void require_harmless_folder(const fs::path& folder) {
  std::error_code ignored;
  if (folder.empty()) return;
  if (fs::is_symlink(folder, ignored) && !fs::exists(folder, ignored))
    throw_error(ExitCode::kUsage, "{}: is a link to {}, which is missing; make that folder, or remove the link",
                folder.string(), in_quotes(fs::read_symlink(folder, ignored).string(), 200));
  if (!fs::exists(folder, ignored)) return;
  if (!fs::is_directory(folder, ignored))
    throw_error(ExitCode::kUsage, "{}: is a file, expected a folder, or a name that is free", folder.string());
  if (is_checkpoint(folder))
    throw_error(ExitCode::kUsage, "{}: is a checkpoint, which other files would damage; name another folder",
                folder.string());
}

void require_folder_for_runs(const fs::path& folder) {
  require_harmless_folder(folder);
  if (is_run_folder(folder))
    throw_error(ExitCode::kUsage, "{}: is the folder of a run; name a folder for new runs with --out, such as runs",
                folder.string());
}

}  // namespace rnnlab::app
