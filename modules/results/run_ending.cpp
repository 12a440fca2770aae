#include "results/run_ending.h"

#include <fmt/format.h>

#include <algorithm>

namespace rnnlab {
namespace {

const char* word_for(RunEnding ending) {
  switch (ending) {
    case RunEnding::kComplete:
      return "complete";
    case RunEnding::kInterrupted:
      return "interrupted";
    case RunEnding::kDiverged:
      return "diverged";
  }
  return "";
}

}  // namespace

RunEnding ending_of(const Summary& summary) {
  const std::string& reason = summary.stop_reason;
  if (reason.starts_with("training diverged")) return RunEnding::kDiverged;
  const bool by_signal = reason.find(" (SIG") != std::string::npos;  // "terminated (SIGTERM)"
  return by_signal ? RunEnding::kInterrupted : RunEnding::kComplete;
}

bool is_complete(const RunGroup& group) { return ending_text(group) == word_for(RunEnding::kComplete); }

std::string ending_text(const RunGroup& group) {
  RunEnding worst = RunEnding::kComplete;
  for (const RunRecord* run : group.runs) worst = std::max(worst, ending_of(run->summary));
  const auto is_worst = [&](const RunRecord* run) { return ending_of(run->summary) == worst; };
  const auto count = static_cast<size_t>(std::ranges::count_if(group.runs, is_worst));
  if (count == group.runs.size()) return word_for(worst);
  return fmt::format("{} of {} {}", count, group.runs.size(), word_for(worst));
}

std::vector<std::string> ending_warnings(const RunGroup& group) {
  std::vector<std::string> warnings;
  for (const RunRecord* run : group.runs)
    if (const RunEnding ending = ending_of(run->summary); ending != RunEnding::kComplete)
      warnings.push_back(fmt::format("{}: {} {}: its times and metrics are those of the {} before", group.label,
                                     run->folder.string(),
                                     ending == RunEnding::kDiverged ? "DIVERGED" : "WAS INTERRUPTED",
                                     run->summary.epochs == 1 ? "epoch" : "epochs"));
  return warnings;
}

}  // namespace rnnlab
