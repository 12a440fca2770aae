// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/baseline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "results/conditions.h"
#include "runs/bench/bench_report.h"

namespace rnnlab {
namespace {

struct MatchedRow {
  const BenchRow* now;
  const BenchRow* before;
};

bool are_alike(const RowKey& a, const RowKey& b) { return a == b; }

bool are_alike_in_any_precision(const RowKey& a, RowKey b) {
  b.precision = a.precision;
  return a == b;
}

template <class AreAlike>
std::vector<MatchedRow> match_rows(const BenchReport& now, const BenchReport& before, AreAlike are) {
  std::vector<MatchedRow> matched;
  for (const BenchRow& row : now.rows) {
    const auto found =
        std::ranges::find_if(before.rows, [&](const BenchRow& other) { return are(row.key, other.key); });
    if (found != before.rows.end()) matched.push_back({&row, &*found});
  }
  return matched;
}

// If no keys match, rows that differ only in precision are matched: they are then refused with this reason, or forced.
std::vector<MatchedRow> match_rows(const BenchReport& now, const BenchReport& before) {
  std::vector<MatchedRow> matched = match_rows(now, before, are_alike);
  return matched.empty() ? match_rows(now, before, are_alike_in_any_precision) : matched;
}

void add_difference(std::vector<std::string>& found, const char* what, const std::string& now,
                    const std::string& before) {
  const bool are_recorded = !now.empty() && !before.empty();
  if (are_recorded && now != before) add_once(found, fmt::format("{}: {} now, {} before", what, now, before));
}

// If all rows are on a GPU, the CPU only queues work, so conditions of the CPU are not a reason to refuse.
bool is_refused(const UnequalCondition& one, const std::vector<MatchedRow>& matched) {
  if (one.on_unequal != OnUnequal::kRefuse) return false;
  const bool has_cpu_rows =
      std::ranges::any_of(matched, [](const MatchedRow& row) { return row.now->key.device == "cpu"; });
  return has_cpu_rows || affects_gpus(one);
}

std::vector<std::string> differences(const BenchReport& now, const BenchReport& before,
                                     const std::vector<MatchedRow>& matched) {
  const Environment& a = now.environment;
  const Environment& b = before.environment;
  std::vector<std::string> found;
  add_difference(found, "build", build_kind(a.build), build_kind(b.build));
  for (const MatchedRow& row : matched) {
    add_difference(found, "precision", row.now->key.precision, row.before->key.precision);
    if (row.now->key.device != "cpu") {
      add_difference(found, "GPU", gpu_model(a.nvidia), gpu_model(b.nvidia));
      continue;
    }
    add_difference(found, "CPU", a.cpu.model, b.cpu.model);
    add_difference(found, "number of threads", std::to_string(a.num_threads), std::to_string(b.num_threads));
  }
  for (const UnequalCondition& one : unequal_conditions(conditions_of(a), conditions_of(b)))
    if (is_refused(one, matched)) add_difference(found, one.what, one.first, one.second);
  return found;
}

std::vector<std::string> notes_on(const BenchReport& now, const BenchReport& before,
                                  const std::vector<MatchedRow>& matched) {
  const Conditions a = conditions_of(now.environment), b = conditions_of(before.environment);
  std::vector<std::string> found;
  for (const UnequalCondition& one : unequal_conditions(a, b))
    if (!is_refused(one, matched)) add_difference(found, one.what, one.first, one.second);
  const SoftwareVersions &software = now.environment.software, &earlier = before.environment.software;
  add_difference(found, "CUDA", software.cuda, earlier.cuda);
  add_difference(found, "cuDNN", software.cudnn, earlier.cudnn);
  add_difference(found, "version of rnnlab", software.rnnlab, earlier.rnnlab);
  const std::vector<std::string> unrecorded = unrecorded_conditions(a, b);
  if (!unrecorded.empty())
    found.push_back("not compared, because only one side recorded it: " + join_with_and(unrecorded));
  return found;
}

constexpr auto kFewestProcessesForInterval = static_cast<size_t>(kMinProcessesForInterval);
constexpr auto kFewestProcessesForVerdict = static_cast<size_t>(kMinProcessesForVerdict);

size_t fewest_processes(const RowComparison& row) { return std::min(row.processes_before, row.processes_now); }

// `now` and `before` have one number for each process.
std::optional<Estimate> ratio_of(const std::vector<double>& now, const std::vector<double>& before) {
  const auto is_positive = [](double seconds) { return seconds > 0; };
  if (!std::ranges::all_of(now, is_positive) || !std::ranges::all_of(before, is_positive)) return std::nullopt;
  if (std::min(now.size(), before.size()) < kFewestProcessesForInterval) {
    const double ratio = geometric_mean(now) / geometric_mean(before);
    return Estimate{.value = ratio, .low = ratio, .high = ratio};
  }
  return estimate_of(unpaired_ratio(now, before));
}

void set_ratios(RowComparison& row, const std::vector<PassSamples>& now, const std::vector<PassSamples>& before) {
  const PartValues a = part_values(now), b = part_values(before);
  row.processes_now = now.size();
  row.processes_before = before.size();
  row.ratios = {ratio_of(a.forward, b.forward), ratio_of(a.backward_data, b.backward_data),
                ratio_of(a.backward_weights, b.backward_weights), ratio_of(a.total, b.total)};
}

RowVerdict verdict_of(const RowComparison& row, double tolerance) {
  if (fewest_processes(row) < kFewestProcessesForVerdict) return RowVerdict::kUnclear;
  const auto is_slower = [&](const std::optional<Estimate>& ratio) { return ratio && ratio->low > 1 + tolerance; };
  const Estimate& total = row.ratios.back().value();
  if (std::ranges::any_of(row.ratios, is_slower)) return RowVerdict::kSlower;
  if (total.high < 1 - tolerance) return RowVerdict::kFaster;
  const bool is_within = total.low >= 1 - tolerance && total.high <= 1 + tolerance;
  return is_within ? RowVerdict::kSame : RowVerdict::kUnclear;
}

RowComparison compare_rows(const MatchedRow& matched, double tolerance) {
  RowComparison row;
  row.key = matched.now->key;
  if (matched.before->measurement) row.seconds_before = matched.before->measurement->seconds.total.value;
  if (!matched.now->measurement) {
    row.verdict = RowVerdict::kGone;
    return row;
  }
  row.seconds_now = matched.now->measurement->seconds.total.value;
  if (!matched.before->measurement) {
    row.verdict = RowVerdict::kNew;
    return row;
  }
  set_ratios(row, by_process(*matched.now->measurement), by_process(*matched.before->measurement));
  row.verdict = verdict_of(row, tolerance);
  return row;
}

std::string text_of(RowVerdict verdict) {
  switch (verdict) {
    case RowVerdict::kSame:
      return "";
    case RowVerdict::kFaster:
      return "faster";
    case RowVerdict::kSlower:
      return "SLOWER";
    case RowVerdict::kUnclear:
      return "undecided";
    case RowVerdict::kGone:
      return "GONE";
    case RowVerdict::kNew:
      return "new";
  }
  return "";
}

std::string total_ms(const std::optional<double>& seconds) { return seconds ? significant(*seconds * 1e3, 4) : "-"; }

std::string ratio_text(const std::optional<Estimate>& ratio, size_t num_processes) {
  if (!ratio) return "-";
  if (num_processes < kFewestProcessesForInterval) return fmt::format("{:.3f}", ratio->value);
  return fmt::format("{:.3f} ({:.3f} .. {:.3f})", ratio->value, ratio->low, ratio->high);
}

// varying_columns needs whole rows, of which only the keys are set.
std::vector<BenchRow> rows_with_keys(const BaselineComparison& comparison) {
  std::vector<BenchRow> rows;
  for (const RowComparison& row : comparison.rows) rows.emplace_back().key = row.key;
  return rows;
}

TextTable make_baseline_table(const BaselineComparison& comparison) {
  const std::vector<KeyColumn> varying = varying_columns(rows_with_keys(comparison));
  TextTable table;
  for (const KeyColumn& key : varying) table.add_column(key.heading, Align::kLeft);
  table.add_column("layer", Align::kLeft);
  for (const char* heading : {"before ms", "now ms", "forward", "bwd data", "bwd weights", "total"})
    table.add_column(heading, Align::kRight);
  table.add_column("", Align::kLeft);
  for (const RowComparison& row : comparison.rows) {
    std::vector<std::string> cells;
    for (const KeyColumn& key : varying) cells.push_back(key.text(row.key));
    cells.push_back(row.key.layer_text());
    cells.push_back(total_ms(row.seconds_before));
    cells.push_back(total_ms(row.seconds_now));
    for (const auto& ratio : row.ratios) cells.push_back(ratio_text(ratio, fewest_processes(row)));
    cells.push_back(text_of(row.verdict));
    table.add_row(std::move(cells));
  }
  return table;
}

std::string summary_line(const BaselineComparison& comparison) {
  const auto count = [&](RowVerdict verdict) {
    return std::ranges::count(comparison.rows, verdict, &RowComparison::verdict);
  };
  const size_t num_only_now = comparison.num_only_now + static_cast<size_t>(count(RowVerdict::kNew));
  return fmt::format(
      "{0} slower by more than {1:.3g} %, {2} gone, {3} faster by more than that, {4} equal within that, {5} "
      "undecided; only before: {6}, only now: {7}\n",
      count(RowVerdict::kSlower), 100 * comparison.tolerance, count(RowVerdict::kGone), count(RowVerdict::kFaster),
      count(RowVerdict::kSame), count(RowVerdict::kUnclear), comparison.num_only_before, num_only_now);
}

std::string processes_text(size_t count) { return counted(static_cast<int64_t>(count), "process"); }

bool has_too_few_processes(const RowComparison& row) {
  return row.seconds_now && row.seconds_before && fewest_processes(row) < kFewestProcessesForVerdict;
}

// Returns why rows have no verdict, with each reason once; "" if there are enough processes.
std::string too_few_lines(const BaselineComparison& comparison) {
  std::vector<std::string> lines;
  for (const RowComparison& row : comparison.rows) {
    if (!has_too_few_processes(row)) continue;
    const char* missing =
        fewest_processes(row) < kFewestProcessesForInterval ? "no interval and no verdict" : "no verdict";
    add_once(lines,
             fmt::format("{} now and {} before: {} for a different process. An interval needs 3 processes on both "
                         "sides, a verdict needs 5: set processes.\n",
                         processes_text(row.processes_now), processes_text(row.processes_before), missing));
  }
  return join(lines, "");
}

std::string unclear_lines(const BaselineComparison& comparison) {
  const std::vector<KeyColumn> varying = varying_columns(rows_with_keys(comparison));
  std::string lines;
  for (const RowComparison& row : comparison.rows)
    if (row.verdict == RowVerdict::kUnclear && !has_too_few_processes(row))
      lines += fmt::format("{} is undecided: between {:.3f} and {:.3f} of its time before\n",
                           row_label(row.key, varying), row.ratios.back()->low, row.ratios.back()->high);
  if (lines.empty()) return too_few_lines(comparison);
  return too_few_lines(comparison) + lines + "Use more processes on an idle machine to narrow an interval.\n";
}

}  // namespace

bool BaselineComparison::has_regression() const {
  return std::ranges::any_of(rows, [](const RowComparison& row) {
    return row.verdict == RowVerdict::kSlower || row.verdict == RowVerdict::kGone;
  });
}

void check_comparable(const BenchReport& now, const BenchReport& before, const std::string& file,
                      const BaselineOptions& options) {
  const std::vector<MatchedRow> matched = match_rows(now, before);
  if (matched.empty())
    throw_error(ExitCode::kUsage, "{}: no row has a layer and sizes that were measured now; it has {}", file,
                before.rows.empty() ? "none" : shared_text(before.rows));
  const std::vector<std::string> found = differences(now, before, matched);
  if (!found.empty() && options.on_difference == OnDifference::kRefuse)
    throw_error(ExitCode::kUsage, "{} cannot be compared with:\n  {}\n  use --force to compare anyway", file,
                join(found, "\n  "));
}

BaselineComparison compare_to_baseline(const BenchReport& now, const BenchReport& before, const std::string& file,
                                       const BaselineOptions& options) {
  check_comparable(now, before, file, options);
  const std::vector<MatchedRow> matched = match_rows(now, before);
  BaselineComparison comparison;
  comparison.file = file;
  comparison.tolerance = options.tolerance;
  comparison.forced = differences(now, before, matched);
  comparison.notes = notes_on(now, before, matched);
  for (const MatchedRow& row : matched)
    if (row.now->measurement || row.before->measurement)
      comparison.rows.push_back(compare_rows(row, options.tolerance));
  comparison.num_only_now = now.rows.size() - matched.size();
  comparison.num_only_before = before.rows.size() - std::min(before.rows.size(), matched.size());
  return comparison;
}

std::string baseline_text(const BaselineComparison& comparison) {
  std::string text;
  if (!comparison.forced.empty())
    text += "FORCED: this is not a fair comparison.\n  " + join(comparison.forced, "\n  ") + "\n\n";
  text += fmt::format("now over {}, {}\n\n", comparison.file, shared_text(rows_with_keys(comparison)));
  text += make_baseline_table(comparison).text() + "\n";
  text += "Ratios of the processes' medians with 95 % intervals; below 1 is faster.\n" + summary_line(comparison) +
          unclear_lines(comparison);
  for (const std::string& note : comparison.notes) text += note + "\n";
  return text;
}

}  // namespace rnnlab
