#include "results/changed_files.h"

#include <fmt/format.h>

#include <system_error>

#include "base/sha256.h"
#include "results/files.h"
#include "results/row_seal.h"
#include "results/run_folder.h"
#include "results/seal.h"
#include "results/work_settings.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

using Found = std::vector<Warning>;

constexpr const char* kAdvice = "take no number from it, and restore the file or train again";

bool is_sealed(const RunRecord& run) { return has_work_hashes(run.summary); }

void check_summary_seal(const fs::path& folder, Found& found) {
  constexpr int64_t kMostBytes = int64_t{1} << 22;
  if (!has_fitting_seal(read_file(folder / kSummaryFile, kMostBytes)))
    found.emplace_back(warning::kEditedSummary,
                       fmt::format("summary.json was changed after it was written; {}", kAdvice));
}

void check_rows_seal(const RunRecord& run, Found& found) {
  if (rows_sha256(run.rows) != run.summary.rows_sha256)
    found.emplace_back(warning::kBrokenSeal,
                       fmt::format("epochs.csv was changed after summary.json sealed its rows; {}", kAdvice));
}

void check_settings(const RunRecord& run, Found& found) {
  const Identity& identity = run.summary.identity;
  const WorkHashes told{identity.model_hash, identity.training_hash};
  if (settings_sha256(run.config) != run.summary.settings_sha256)
    found.emplace_back(warning::kEditedConfig,
                       "config.yaml has other settings than the run had; restore the file, or train again");
  else if (work_hashes(run.config) != told)
    found.emplace_back(warning::kEditedConfig,
                       "summary.json has other hashes of model and training than config.yaml gives");
}

void check_environment(const fs::path& folder, const RunRecord& run, Found& found) {
  constexpr int64_t kMostBytes = int64_t{1} << 22;
  const std::string& sealed = run.summary.environment_sha256;
  if (sealed.empty() || Sha256().update(read_file(folder / kEnvironmentFile, kMostBytes)).hex() == sealed) return;
  found.emplace_back(warning::kEditedEnvironment,
                     fmt::format("environment.json was changed after the run began; {}", kAdvice));
}

void check_row_files(const fs::path& folder, const RunRecord& run, Found& found) {
  constexpr int64_t kMostBytes = int64_t{1} << 28;
  const fs::path jsonl = folder / kEpochsJsonlFile;
  std::error_code ignored;
  if (!fs::exists(jsonl, ignored)) {
    if (is_sealed(run))
      found.emplace_back(warning::kRowsDisagree, "epochs.jsonl is missing, so nothing bears out epochs.csv");
    return;
  }
  if (const auto difference = disagreement(run.rows, read_file(jsonl, kMostBytes)))
    found.emplace_back(warning::kRowsDisagree,
                       fmt::format("epochs.csv and epochs.jsonl disagree: {}; one of them was changed", *difference));
}

}  // namespace

Found changed_files(const fs::path& folder, const RunRecord& run) {
  Found found;
  if (is_sealed(run)) {
    check_summary_seal(folder, found);
    check_rows_seal(run, found);
    check_settings(run, found);
    check_environment(folder, run, found);
  }
  check_row_files(folder, run, found);
  return found;
}

}  // namespace rnnlab
