// SPDX-License-Identifier: Apache-2.0
#include "results/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/numbers.h"
#include "base/statistics.h"
#include "base/text.h"
#include "results/loss_agreement.h"
#include "results/run_folder.h"
#include "results/time_shape.h"
#include "results/waiting.h"

namespace rnnlab {
namespace {

using Found = std::vector<Warning>;

// Waiting for the device at an epoch's end takes some tens of microseconds. A clock that does not wait misses most of
// the epoch.
bool clocks_agree(double host_seconds, double device_seconds) {
  constexpr double kOverhead = 2e-4, kPart = 0.01;
  return std::abs(host_seconds - device_seconds) <= kOverhead + kPart * host_seconds;
}

// Compares medians over the epochs that count, because one epoch may have been disturbed between the readings of the
// two clocks.
void check_device_clock(const RunRecord& run, Found& found) {
  const std::vector<double> host = timed_seconds(run.rows);
  std::vector<double> device;
  for (const EpochRow& row : run.rows)
    if (!row.warmup && row.device_seconds && std::isfinite(*row.device_seconds)) device.push_back(*row.device_seconds);
  if (!is_on_gpu(run) || host.empty()) return;
  if (device.size() < host.size()) {
    found.emplace_back(
        warning::kUnprovenTimer,
        "UNPROVEN TIMER: epochs.csv has no device_seconds for epochs that count, so nothing shows that the clock "
        "waited for the GPU");
  } else if (!clocks_agree(median(host), median(device))) {
    found.emplace_back(
        warning::kUnsynchronisedTimer,
        fmt::format("UNSYNCHRONISED TIMER: epochs of {:.4g} s (median) took {:.4g} s by the GPU's own clock",
                    median(host), median(device)));
  }
}

double seconds_in_epochs(const RunRecord& run) {
  double sum = 0;
  for (const EpochRow& row : run.rows) sum += row.train_seconds + row.valid_seconds.value_or(0);
  return sum;
}

// The time of the whole fit includes time that a timer misses.
void check_whole_time(const RunRecord& run, Found& found) {
  constexpr double kRounding = 1e-3, kLeastMissing = 1.0;
  const double whole = run.summary.fit_seconds;
  const double parts = seconds_in_epochs(run);
  if (parts > whole * (1 + kRounding))
    found.emplace_back(
        warning::kImpossibleSum,
        fmt::format("IMPOSSIBLE SUM: the epochs add up to {:.4g} s, the whole fit to {:.4g} s", parts, whole));
  // A diverged run does not have a row for its last epoch.
  if (whole - parts > std::max(parts, kLeastMissing) && run.summary.ending == RunEnding::kComplete)
    found.emplace_back(
        warning::kMissingTime,
        fmt::format("TIME IS MISSING: the whole fit took {:.4g} s, its epochs and validations {:.4g} s", whole, parts));
  for (const EpochRow& row : run.rows)
    if (row.data_seconds > row.train_seconds * (1 + kRounding)) {
      found.emplace_back(warning::kImpossibleWait,
                         fmt::format("IMPOSSIBLE WAIT: epoch {} waited {:.4g} s for data, of {:.4g} s", row.epoch,
                                     row.data_seconds, row.train_seconds));
      return;
    }
}

bool differ(const std::optional<EpochTime>& a, const std::optional<EpochTime>& b) {
  constexpr double kRounding = 1e-9;
  if (!a || !b) return a.has_value() != b.has_value();
  return a->num_epochs != b->num_epochs ||
         std::abs(a->median_seconds - b->median_seconds) > kRounding * b->median_seconds;
}

std::string shown(const std::optional<EpochTime>& time) {
  if (!time) return "no epoch that counts";
  return fmt::format("{:.4g} s over {}", time->median_seconds, counted(time->num_epochs, "epoch"));
}

// A wrong median results, for example, from an included warm-up epoch.
void check_summary(const RunRecord& run, Found& found) {
  const auto by_rows = epoch_time(run.rows);
  if (differ(run.summary.epoch_time, by_rows))
    found.emplace_back(warning::kWrongMedian, fmt::format("WRONG MEDIAN: the summary says {}, epochs.csv {}",
                                                          shown(run.summary.epoch_time), shown(by_rows)));
  if (run.summary.epochs > std::ssize(run.rows))
    found.emplace_back(warning::kWrongSummary, fmt::format("WRONG SUMMARY (epochs): it says {}, epochs.csv has {}",
                                                           run.summary.epochs, run.rows.size()));
  for (const auto& [name, value] : final_metrics(run.rows)) {
    const auto recorded = run.summary.final_metrics.find(name);
    if (recorded == run.summary.final_metrics.end() || recorded->second == value) continue;
    if (std::isnan(recorded->second) && std::isnan(value)) continue;
    found.emplace_back(warning::kWrongSummary, fmt::format("WRONG SUMMARY ({}): it says {}, epochs.csv {}", name,
                                                           format_shortest(recorded->second), format_shortest(value)));
  }
}

void check_warmup(const RunRecord& run, Found& found) {
  const auto wanted = parse_int64(value_or_absent(run.config, "training.warmup_epochs"));
  for (const EpochRow& row : run.rows)
    if (wanted && row.epoch <= *wanted && !row.warmup) {
      found.emplace_back(
          warning::kWarmupNotMarked,
          fmt::format("WARM-UP IS NOT MARKED: training.warmup_epochs is {}, but epoch {} counts", *wanted, row.epoch));
      return;
    }
}

void check_samples(const RunRecord& run, Found& found) {
  const EpochRow* first = nullptr;
  for (const EpochRow& row : run.rows) {
    if (row.warmup) continue;
    if (first == nullptr) first = &row;
    if (num_samples(row) == num_samples(*first)) continue;
    found.emplace_back(warning::kUnequalEpochs,
                       fmt::format("UNEQUAL EPOCHS: epoch {} took {:.0f} samples, epoch {} {:.0f}, and both count",
                                   first->epoch, num_samples(*first), row.epoch, num_samples(row)));
    return;
  }
}

void check_equal(const char* what, const std::string& in_summary, const char* file, const std::string& in_file,
                 Found& found) {
  if (in_summary != in_file)
    found.emplace_back(warning::kWrongIdentity, fmt::format("WRONG IDENTITY ({}): the summary says '{}', {} '{}'", what,
                                                            in_summary, file, in_file));
}

void check_identity(const RunRecord& run, Found& found) {
  const Identity& identity = run.summary.identity;
  const Environment& environment = run.environment;
  constexpr const char* kEnvironment = "environment.json";
  check_equal("build_type", identity.build_type, kEnvironment, build_kind(environment.build), found);
  check_equal("cpu_model", identity.cpu_model, kEnvironment, environment.cpu.model, found);
  check_equal("gpu_model", identity.gpu_model, kEnvironment, gpu_model(environment.nvidia), found);
  check_equal("num_threads", std::to_string(identity.num_threads), kEnvironment,
              std::to_string(environment.num_threads), found);
  if (identity.conditions != conditions_of(environment))
    found.emplace_back(warning::kWrongIdentity,
                       "wrong identity (conditions): the summary differs from environment.json");
  const auto batch_size = run.config.find("training.batch_size");
  if (batch_size != run.config.end())
    check_equal("batch_size", std::to_string(identity.batch_size), "config.yaml", batch_size->second, found);
}

// LibTorch's switches for cuDNN and cuBLAS may have different values than the experiment requires.
void check_precision(const RunRecord& run, Found& found) {
  if (is_on_gpu(run) && run.summary.identity.precision != run.summary.precision)
    found.emplace_back(warning::kOtherPrecision, fmt::format("OTHER PRECISION: {} was set, but {} ran",
                                                             run.summary.precision, run.summary.identity.precision));
}

}  // namespace

std::vector<Warning> check_consistency(const RunRecord& run) {
  Found found;
  check_device_clock(run, found);
  check_whole_time(run, found);
  check_summary(run, found);
  check_warmup(run, found);
  check_samples(run, found);
  check_identity(run, found);
  check_precision(run, found);
  return found;
}

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
          fmt::format("{}: {} {}: its times and metrics are those of the previous {}", group.label,
                      run->folder.string(), ending == RunEnding::kDiverged ? "DIVERGED" : "WAS INTERRUPTED",
                      run->summary.epochs == 1 ? "epoch" : "epochs"));
  return warnings;
}

bool counts_warmup(const RunRecord& run) { return !run.rows.empty() && run.rows[0].epoch == 1 && !run.rows[0].warmup; }

namespace {

// Returns the group's label, with the run's folder if the group has several runs.
std::string name_of(const RunRecord& run, const RunGroup& group) {
  return group.runs.size() == 1 ? group.label : fmt::format("{} ({})", group.label, folder_name(run, group));
}

Warning counted_warmup(const RunRecord& run) {
  const std::vector<double> others = timed_seconds(std::span(run.rows).subspan(1));
  const std::string other_times =
      others.empty() ? "" : fmt::format(", the others {:.4g} s in the median", median(others));
  return {warning::kWarmupCounted,
          fmt::format("WARM-UP IS COUNTED: the first epoch took {:.4g} s{}; set training.warmup_epochs=1 to exclude it",
                      run.rows[0].train_seconds, other_times)};
}

std::vector<Warning> warnings_of(const RunRecord& run) {
  // The warnings of environment.json concern the machine. The summary repeats them and adds warnings about the run.
  std::vector<Warning> found = warnings(run.environment);
  for (const Warning& warning : run.summary.warnings) add_once(found, warning);
  for (const Warning& change : run.changed) found.push_back(change);
  if (counts_warmup(run)) found.push_back(counted_warmup(run));
  for (const Warning& warning : check_consistency(run)) found.push_back(warning);
  for (const Warning& warning : waiting_warnings(run.rows, run.summary.device, run.environment.num_threads))
    add_once(found, warning);
  for (const Warning& warning : straggler_warnings(run.rows)) add_once(found, warning);
  for (const Warning& warning : shape_warnings(run.rows))
    if (warning.kind != warning::kColdEpoch || !counts_warmup(run)) found.push_back(warning);
  return found;
}

}  // namespace

std::vector<GroupFinding> quality_warnings(const RunGroup& group) {
  std::vector<GroupFinding> found;
  for (const RunRecord* run : group.runs)
    for (const Warning& warning : warnings_of(*run))
      found.push_back({"", name_of(*run, group), ": " + warning.text, warning.kind});
  if (const auto unequal = unequal_repeated_losses(group))
    found.push_back(
        {"", group.label,
         fmt::format(": deterministic is true, but losses of epoch {} are {} in {} and {} in {}; check what changed "
                     "between the runs",
                     unequal->epoch, format_shortest(unequal->first), folder_name(*unequal->first_run, group),
                     format_shortest(unequal->second), folder_name(*unequal->second_run, group)),
         warning::kLossesPart});
  for (GroupFinding& finding : waiting_within(group)) found.push_back(std::move(finding));
  for (const Warning& warning : shape_warnings(group))
    found.push_back({"", group.label, ": " + warning.text, warning.kind});
  return found;
}

std::vector<NamedSet> sets_of_runs(const std::vector<RunGroup>& groups) {
  NamedSet all_runs, all_groups;
  std::vector<NamedSet> of_groups;
  for (const RunGroup& group : groups) {
    NamedSet& runs = of_groups.emplace_back();
    for (const RunRecord* run : group.runs) runs.members.push_back(name_of(*run, group));
    runs.name = fmt::format("all {} runs of {}", runs.members.size(), group.label);
    all_runs.members.insert(all_runs.members.end(), runs.members.begin(), runs.members.end());
    all_groups.members.push_back(group.label);
  }
  all_runs.name = fmt::format("all {} runs", all_runs.members.size());
  all_groups.name = fmt::format("all {} sides", all_groups.members.size());
  of_groups.insert(of_groups.begin(), {all_runs, all_groups});
  return of_groups;
}

// Returns how many runs each seed has, in the order of the seeds.
std::map<int64_t, int64_t> runs_by_seed(const RunGroup& group) {
  std::map<int64_t, int64_t> counts;
  for (const RunRecord* run : group.runs) ++counts[run->summary.seed];
  return counts;
}

std::vector<GroupFinding> unequal_seeds(const RunGroup& group) {
  const std::map<int64_t, int64_t> counts = runs_by_seed(group);
  const auto [least, most] =
      std::ranges::minmax_element(counts, {}, [](const auto& seed_and_count) { return seed_and_count.second; });
  if (counts.empty() || least->second == most->second) return {};
  return {{"", group.label,
           fmt::format(": seed {} has {}, seed {} has {}, so the seeds do not count equally in its losses and metrics; "
                       "remove runs, or add the missing ones",
                       most->first, counted(most->second, "run"), least->first, least->second),
           warning::kOther}};
}

std::vector<std::string> pooling_notes(const RunGroup& group) {
  std::vector<std::string> notes;
  const std::vector<int64_t> all = seeds(group);
  if (group.runs.size() > 1)
    notes.push_back(fmt::format("{}: {} runs of the same work pooled, {} {}", group.label, group.runs.size(),
                                all.size() == 1 ? "all of seed" : "seeds", fmt::join(all, ", ")));
  return notes;
}

std::optional<Warning> copies_warning(const RunGroup& group) {
  std::vector<std::string> copies;
  for (const RunRecord* copy : group.copies) copies.push_back(copy->folder.string());
  if (copies.empty()) return std::nullopt;
  return Warning{warning::kSkippedCopy, fmt::format("{}: skipped as {} of an included run: {}", group.label,
                                                    copies.size() == 1 ? "a copy" : "copies", join(copies, ", "))};
}

std::vector<GroupFinding> process_notes(const RunGroup& group) {
  const auto has_none = [](const RunRecord* run) { return run->summary.turn.process.empty(); };
  if (std::ranges::count_if(group.runs, has_none) < 2) return {};
  return {{"", group.label,
           ": files before version 3 do not record which process trained a run, so such runs count as one process"}};
}

std::string few_seeds_note(const std::vector<RunGroup>& groups) {
  constexpr size_t kFewestSeeds = 3;
  std::vector<std::string> labels;
  for (const RunGroup& group : groups)
    if (seeds(group).size() < kFewestSeeds) labels.push_back(group.label);
  if (labels.empty()) return "";
  const bool are_all = labels.size() > 2 && labels.size() == groups.size();
  return fmt::format("losses and metrics of fewer than {} seeds ({}): different seeds give different values",
                     kFewestSeeds, are_all ? fmt::format("all {} sides", labels.size()) : join(labels, ", "));
}

}  // namespace rnnlab
