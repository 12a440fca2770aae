#include "results/run_order.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <tuple>

#include "base/folder.h"
#include "results/run_folder.h"

namespace rnnlab {
namespace {

// What runs share that are put in order among themselves.
std::string key_of(const RunRecord& run) {
  if (!run.summary.turn.measurement.empty()) return run.summary.turn.measurement;
  return run.environment.start_time + " " + whole_path(run.folder).parent_path().string();
}

bool comes_before(const RunRecord* a, const RunRecord* b) {
  return std::tie(a->summary.turn.case_number, a->started) < std::tie(b->summary.turn.case_number, b->started);
}

}  // namespace

std::vector<const RunRecord*> in_order_of_sweeps(const std::vector<RunRecord>& runs) {
  std::vector<std::vector<const RunRecord*>> sweeps;
  std::map<std::string, size_t> index_of;
  for (const RunRecord& run : runs) {
    const auto [found, is_new] = index_of.emplace(key_of(run), sweeps.size());
    if (is_new) sweeps.emplace_back();
    sweeps[found->second].push_back(&run);
  }
  std::vector<const RunRecord*> all;
  for (auto& sweep : sweeps) {
    std::ranges::stable_sort(sweep, comes_before);
    all.insert(all.end(), sweep.begin(), sweep.end());
  }
  return all;
}

std::string start_by_log(const std::filesystem::path& folder) {
  constexpr std::string_view kPattern = "2026-11-21T02:59:51.079Z";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(folder / kLogFile, ignored)) return "";  // a pipe would never be read
  std::string start(kPattern.size(), '\0');
  std::ifstream log(folder / kLogFile, std::ios::binary);
  log.read(start.data(), static_cast<std::streamsize>(start.size()));
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool is_time = std::ranges::equal(
      start, kPattern, [&](char read, char wanted) { return is_digit(wanted) ? is_digit(read) : read == wanted; });
  return log && is_time ? start : "";
}

}  // namespace rnnlab
