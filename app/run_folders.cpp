#include "run_folders.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/folder.h"
#include "output.h"
#include "results/run_folder.h"

namespace rnnlab::app {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> without_repetitions(const std::vector<std::string>& folders) {
  std::set<fs::path> seen;
  std::vector<std::string> unique;
  for (const std::string& folder : folders) {
    std::error_code unreadable;
    const fs::path whole = fs::weakly_canonical(folder, unreadable);
    if (seen.insert(unreadable ? fs::path(folder) : whole).second) unique.push_back(folder);
  }
  return unique;
}

// The runs are sorted by the second of their start, which is in their names; results/run_record.h orders runs of one
// second. load_run reports runs that cannot be read.
std::vector<fs::path> runs_below(const fs::path& folder) {
  return folders_with(folder, {kEpochsCsvFile, kSummaryFile});
}

// The user may have written "runs" instead of "runs/gru_speed"; different experiments must not be mixed by mistake.
void require_no_experiments_in(const fs::path& folder) {
  std::error_code unreadable;
  for (fs::directory_iterator entry(folder, unreadable); entry != end(entry); entry.increment(unreadable))
    if (!runs_below(entry->path()).empty())
      throw_error(ExitCode::kUsage,
                  "{}: not a run folder, but its subfolders contain runs; pass one of them, for example {}",
                  folder.string(), entry->path().string());
}

std::vector<std::string> expanded(const std::string& folder) {
  const auto runs = runs_below(folder);
  std::vector<std::string> ended;
  for (const auto& run : runs) {
    if (is_there(run / kSummaryFile))
      ended.push_back(run.string());
    else
      print_notice(fmt::format("rnnlab: {} skipped: it has not ended yet, or was killed\n", run.string()));
  }
  if (ended.empty()) require_no_experiments_in(folder);
  return ended.empty() ? std::vector<std::string>{folder} : ended;
}

}  // namespace

std::vector<std::string> named_runs(const std::vector<std::string>& folders) {
  std::vector<std::string> all;
  for (const std::string& folder : folders)
    for (std::string& run : expanded(folder)) all.push_back(std::move(run));
  return without_repetitions(all);
}

}  // namespace rnnlab::app
