#include "output_file.h"

#include <algorithm>
#include <array>

#include "base/error.h"
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
  return std::ranges::find(kOwn, file.filename().string()) != kOwn.end() && is_run_folder(file.parent_path());
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
  if (is_of_a_run(file) || is_checkpoint(file.parent_path()))
    throw_error(ExitCode::kUsage, "{}: belongs to a run, which it would damage; name another file to write",
                out.string());
}

void require_harmless_folder(const fs::path& folder) {
  std::error_code ignored;
  if (folder.empty() || !fs::exists(folder, ignored)) return;
  if (!fs::is_directory(folder, ignored))
    throw_error(ExitCode::kUsage, "{}: is a file, expected a folder, or a name that is free", folder.string());
  if (is_checkpoint(folder))
    throw_error(ExitCode::kUsage, "{}: is a checkpoint, which other files would damage; name another folder",
                folder.string());
}

}  // namespace rnnlab::app
