#include "output_file.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "results/run_folder.h"

namespace rnnlab::app {
namespace {

namespace fs = std::filesystem;

bool is_of_a_run(const fs::path& file) {
  constexpr std::array<std::string_view, 7> kOwn = {kConfigFile,  kEnvironmentFile, kEpochsCsvFile, kEpochsJsonlFile,
                                                    kSummaryFile, kLogFile,         kTraceFile};
  std::error_code ignored;
  return std::ranges::find(kOwn, file.filename().string()) != kOwn.end() &&
         fs::exists(file.parent_path() / kConfigFile, ignored);
}

}  // namespace

void require_harmless_output(const fs::path& out, const fs::path& input) {
  if (out.empty()) return;
  std::error_code ignored;
  if (!input.empty() && fs::equivalent(out, input, ignored))
    throw_error(ExitCode::kUsage, "{}: is what is read, and would be lost; name another file to write", out.string());
  if (is_of_a_run(out) || fs::exists(out.parent_path() / kManifestFile, ignored))
    throw_error(ExitCode::kUsage, "{}: belongs to a run, which it would damage; name another file to write",
                out.string());
}

}  // namespace rnnlab::app
