#include "run_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "output.h"
#include "results/run_folder.h"

namespace rnnlab::app {
namespace {

std::vector<std::string> without_repetitions(const std::vector<std::string>& folders) {
  std::set<std::filesystem::path> seen;
  std::vector<std::string> unique;
  for (const std::string& folder : folders)
    if (seen.insert(std::filesystem::weakly_canonical(folder)).second) unique.push_back(folder);
  return unique;
}

std::vector<std::filesystem::path> folders_below(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code unreadable;  // load_run says what is wrong with it
  for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable))
    if (std::filesystem::exists(entry.path() / kEpochsCsvFile)) found.push_back(entry.path());
  std::ranges::sort(found);  // by the time of the start
  return found;
}

std::vector<std::string> expanded(const std::string& folder) {
  const auto runs = folders_below(folder);
  std::vector<std::string> ended;
  for (const auto& run : runs) {
    if (std::filesystem::exists(run / kSummaryFile))
      ended.push_back(run.string());
    else
      print_notice(fmt::format("rnnlab: {} left out: it has not ended yet, or was killed\n", run.string()));
  }
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
