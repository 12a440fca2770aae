#include "results/doubts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.h"
#include "base/text.h"
#include "results/statistics.h"

namespace rnnlab {

bool first_epoch_is_outlier(const std::vector<EpochRow>& rows) {
  constexpr size_t kFewestOthers = 3;
  if (rows.size() < kFewestOthers + 1 || rows[0].warmup) return false;
  std::vector<double> others = timed_seconds(std::span(rows).subspan(1));
  if (others.size() < kFewestOthers) return false;
  const double upper_quartile = quantile(others, 0.75);
  const double fence = upper_quartile + 3 * (upper_quartile - quantile(others, 0.25));
  return rows[0].train_seconds > std::max(fence, 1.1 * median(others));
}

namespace {

// The group's label, with the folder where several runs go by it.
std::string name_of(const RunRecord& run, const RunGroup& group) {
  return group.runs.size() == 1 ? group.label : fmt::format("{} ({})", group.label, run.folder.string());
}

}  // namespace

std::vector<Remark> doubts(const RunGroup& group) {
  constexpr int64_t kFewestEpochs = 5;
  std::vector<Remark> found;
  for (const RunRecord* run : group.runs) {
    // Those about the machine come from environment.json; the summary has them too, and those about the run itself.
    std::vector<std::string> given = warnings(run->environment);
    for (const std::string& warning : run->summary.warnings) add_once(given, warning);
    for (const std::string& warning : given)
      found.push_back({"", name_of(*run, group), ": " + warning, warning.substr(0, warning.find(':'))});
    if (first_epoch_is_outlier(run->rows))
      found.push_back({"", group.label,
                       fmt::format(": the first epoch of {} is an outlier ({:.4g} s) but not marked as warm-up: set "
                                   "training.warmup_epochs to leave it out",
                                   run->folder.string(), run->rows[0].train_seconds)});
  }
  const int64_t num_epochs = std::ssize(timed_seconds(group));
  if (num_epochs < kFewestEpochs)
    found.push_back({"", group.label,
                     fmt::format(": {} after warm-up: TOO FEW TO CLAIM anything, at least {} are needed",
                                 counted(num_epochs, "timed epoch"), kFewestEpochs)});
  return found;
}

std::vector<std::string> pooling_notes(const RunGroup& group) {
  if (group.runs.size() < 2) return {};
  const std::vector<int64_t> all = seeds(group);
  return {fmt::format("{}: {} runs of the same work pooled, {} {}", group.label, group.runs.size(),
                      all.size() == 1 ? "all of seed" : "seeds", fmt::join(all, ", "))};
}

std::string few_seeds_note(const std::vector<RunGroup>& groups) {
  constexpr size_t kFewestSeeds = 3;
  std::vector<std::string> labels;
  for (const RunGroup& group : groups)
    if (seeds(group).size() < kFewestSeeds) labels.push_back(group.label);
  if (labels.empty()) return "";
  return fmt::format("fewer than {} seeds ({}): too few for a claim", kFewestSeeds, join(labels, ", "));
}

}  // namespace rnnlab
