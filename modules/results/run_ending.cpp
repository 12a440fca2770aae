#include "results/run_ending.h"

#include <fmt/format.h>

#include <algorithm>

namespace rnnlab {
bool is_complete(const RunGroup& group) {
  return std::ranges::all_of(group.runs,
                             [](const RunRecord* run) { return run->summary.ending == RunEnding::kComplete; });
}

std::string ending_text(const RunGroup& group) {
  RunEnding worst = RunEnding::kComplete;
  for (const RunRecord* run : group.runs) worst = std::max(worst, run->summary.ending);
  const auto is_worst = [&](const RunRecord* run) { return run->summary.ending == worst; };
  const auto count = static_cast<size_t>(std::ranges::count_if(group.runs, is_worst));
  if (count == group.runs.size()) return std::string(config::name_of(worst));
  return fmt::format("{} of {} {}", count, group.runs.size(), config::name_of(worst));
}

std::vector<Warning> ending_warnings(const RunGroup& group) {
  std::vector<Warning> warnings;
  for (const RunRecord* run : group.runs)
    if (const RunEnding ending = run->summary.ending; ending != RunEnding::kComplete)
      warnings.emplace_back(
          ending == RunEnding::kDiverged ? warning::kDiverged : warning::kInterrupted,
          fmt::format("{}: {} {}: its times and metrics are those of the {} before", group.label, run->folder.string(),
                      ending == RunEnding::kDiverged ? "DIVERGED" : "WAS INTERRUPTED",
                      run->summary.epochs == 1 ? "epoch" : "epochs"));
  return warnings;
}

}  // namespace rnnlab
