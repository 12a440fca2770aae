#include "results/doubts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.h"
#include "base/text.h"
#include "results/contradictions.h"
#include "results/loss_agreement.h"
#include "results/shape_warnings.h"
#include "results/statistics.h"
#include "results/straggler.h"
#include "results/waiting.h"

namespace rnnlab {

bool counts_warmup(const RunRecord& run) { return !run.rows.empty() && run.rows[0].epoch == 1 && !run.rows[0].warmup; }

namespace {

// The group's label, with the folder where several runs go by it.
std::string name_of(const RunRecord& run, const RunGroup& group) {
  return group.runs.size() == 1 ? group.label : fmt::format("{} ({})", group.label, folder_name(run, group));
}

Warning counted_warmup(const RunRecord& run) {
  const std::vector<double> others = timed_seconds(std::span(run.rows).subspan(1));
  const std::string beside = others.empty() ? "" : fmt::format(", the others {:.4g} s in the median", median(others));
  return {warning::kWarmupCounted,
          fmt::format("WARM-UP IS COUNTED: the first epoch took {:.4g} s{}; training.warmup_epochs=1 leaves it out",
                      run.rows[0].train_seconds, beside)};
}

std::vector<Warning> doubts_of(const RunRecord& run) {
  // Those about the machine come from environment.json; the summary has them too, and those about the run itself.
  std::vector<Warning> found = warnings(run.environment);
  for (const Warning& warning : run.summary.warnings) add_once(found, warning);
  for (const Warning& change : run.changed) found.push_back(change);
  if (counts_warmup(run)) found.push_back(counted_warmup(run));
  for (const Warning& contradiction : contradictions(run)) found.push_back(contradiction);
  for (const Warning& warning : waiting_warnings(run.rows, run.summary.device, run.environment.num_threads))
    add_once(found, warning);
  for (const Warning& warning : straggler_warnings(run.rows)) add_once(found, warning);
  for (const Warning& warning : shape_warnings(run.rows))
    if (warning.kind != warning::kColdEpoch || !counts_warmup(run)) found.push_back(warning);
  return found;
}

}  // namespace

std::vector<Remark> doubts(const RunGroup& group) {
  std::vector<Remark> found;
  for (const RunRecord* run : group.runs)
    for (const Warning& doubt : doubts_of(*run))
      found.push_back({"", name_of(*run, group), ": " + doubt.text, doubt.kind});
  if (const auto unequal = unequal_repeats(group))
    found.push_back(
        {"", group.label,
         fmt::format(": deterministic is true, but losses of epoch {} are {} in {} and {} in {}; look what "
                     "changed between the runs",
                     unequal->epoch, format_shortest(unequal->first), folder_name(*unequal->first_run, group),
                     format_shortest(unequal->second), folder_name(*unequal->second_run, group)),
         warning::kLossesPart});
  for (const Warning& doubt : shape_warnings(group)) found.push_back({"", group.label, ": " + doubt.text, doubt.kind});
  return found;
}

std::vector<std::string> pooling_notes(const RunGroup& group) {
  std::vector<std::string> notes;
  const std::vector<int64_t> all = seeds(group);
  if (group.runs.size() > 1)
    notes.push_back(fmt::format("{}: {} runs of the same work pooled, {} {}", group.label, group.runs.size(),
                                all.size() == 1 ? "all of seed" : "seeds", fmt::join(all, ", ")));
  std::vector<std::string> copies;
  for (const RunRecord* copy : group.copies) copies.push_back(copy->folder.string());
  if (!copies.empty())
    notes.push_back(fmt::format("{}: left out as {} of a run that is there: {}", group.label,
                                copies.size() == 1 ? "a copy" : "copies", join(copies, ", ")));
  return notes;
}

std::vector<Remark> process_notes(const RunGroup& group) {
  const auto has_none = [](const RunRecord* run) { return run->summary.turn.process.empty(); };
  if (std::ranges::count_if(group.runs, has_none) < 2) return {};
  return {{"", group.label,
           ": files before version 3 do not tell which process trained a run, so such runs count as one process"}};
}

std::string few_seeds_note(const std::vector<RunGroup>& groups) {
  constexpr size_t kFewestSeeds = 3;
  std::vector<std::string> labels;
  for (const RunGroup& group : groups)
    if (seeds(group).size() < kFewestSeeds) labels.push_back(group.label);
  if (labels.empty()) return "";
  return fmt::format("losses and metrics of fewer than {} seeds ({}): another seed gives others", kFewestSeeds,
                     join(labels, ", "));
}

}  // namespace rnnlab
