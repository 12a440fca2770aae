// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "results/comparison_output.h"
#include "results/conditions.h"

namespace rnnlab {
namespace {

struct MatchedRow {
  const BenchRow* now;
  const BenchRow* before;
};

// If no keys match, rows that differ only in precision are matched: they are then refused with this reason, or forced.
std::vector<MatchedRow> match_rows(const BenchReport& now, const BenchReport& before) {
  std::vector<MatchedRow> matched;
  for (const bool is_any_precision : {false, true}) {
    for (const BenchRow& row : now.rows) {
      const auto is_alike = [&](RowKey key) {
        if (is_any_precision) key.precision = row.key.precision;
        return key == row.key;
      };
      const auto found = std::ranges::find_if(before.rows, is_alike, &BenchRow::key);
      if (found != before.rows.end()) matched.push_back({&row, &*found});
    }
    if (!matched.empty()) break;
  }
  return matched;
}

// Reasons to refuse the comparison, and differences that are only noted.
struct Differences {
  std::vector<std::string> refused, noted;
};

void add_difference(std::vector<std::string>& found, const char* what, const std::string& now,
                    const std::string& before) {
  const bool are_recorded = !now.empty() && !before.empty();
  if (are_recorded && now != before) add_once(found, fmt::format("{}: {} now, {} before", what, now, before));
}

// If all rows are on a GPU, the CPU only queues work, so conditions of the CPU are not a reason to refuse.
Differences differences(const BenchReport& now, const BenchReport& before, const std::vector<MatchedRow>& matched) {
  const Environment &a = now.environment, &b = before.environment;
  Differences found;
  bool has_cpu_rows = false;
  add_difference(found.refused, "build", build_kind(a.build), build_kind(b.build));
  for (const MatchedRow& row : matched) {
    add_difference(found.refused, "precision", row.now->key.precision, row.before->key.precision);
    if (row.now->key.device != "cpu") {
      add_difference(found.refused, "GPU", gpu_model(a.nvidia), gpu_model(b.nvidia));
      continue;
    }
    has_cpu_rows = true;
    add_difference(found.refused, "CPU", a.cpu.model, b.cpu.model);
    add_difference(found.refused, "number of threads", std::to_string(a.num_threads), std::to_string(b.num_threads));
  }
  const Conditions of_now = conditions_of(a), of_before = conditions_of(b);
  for (const UnequalCondition& one : unequal_conditions(of_now, of_before)) {
    const bool is_refused = one.on_unequal == OnUnequal::kRefuse && (has_cpu_rows || affects_gpus(one));
    add_difference(is_refused ? found.refused : found.noted, one.what, one.first, one.second);
  }
  for (const UnequalCondition& one : unequal_versions(a.software, b.software))
    add_difference(found.noted, one.what, one.first, one.second);
  const std::vector<std::string> unrecorded = unrecorded_conditions(of_now, of_before);
  if (!unrecorded.empty())
    found.noted.push_back("not compared, because only one side recorded it: " + join_with_and(unrecorded));
  return found;
}

int64_t fewest_processes(const RowComparison& row) {
  return static_cast<int64_t>(std::min(row.processes_before, row.processes_now));
}

void set_ratios(RowComparison& row, const std::vector<PassSamples>& now, const std::vector<PassSamples>& before,
                double tolerance) {
  const Interval within = {1 - tolerance, 1 + tolerance};
  const auto a = part_values(now), b = part_values(before);
  row.processes_now = now.size();
  row.processes_before = before.size();
  for (size_t i = 0; i < kParts.size(); ++i) row.ratios[i] = time_ratio(a[i], b[i], {.equal = within, .alike = within});
  const auto is_slower = [](const TimeRatio& ratio) { return ratio.verdict == TimeVerdict::kSlower; };
  row.verdict = std::ranges::any_of(row.ratios, is_slower) ? TimeVerdict::kSlower : row.ratios.back().verdict.value();
}

RowComparison compare_rows(const MatchedRow& matched, double tolerance) {
  const auto &now = matched.now->measurement, &before = matched.before->measurement;
  RowComparison row;
  row.key = matched.now->key;
  if (before) row.seconds_before = before->seconds.total.value;
  if (now) row.seconds_now = now->seconds.total.value;
  if (now && before) set_ratios(row, by_process(*now), by_process(*before), tolerance);
  return row;
}

std::string verdict_text(const RowComparison& row) {
  if (row.is_gone()) return "GONE";
  if (row.is_new()) return "new";
  switch (row.verdict) {
    case TimeVerdict::kNoDifference:
      return "";
    case TimeVerdict::kFaster:
      return "faster";
    case TimeVerdict::kSlower:
      return "SLOWER";
    case TimeVerdict::kUndecided:
    case TimeVerdict::kNone:
      return "undecided";
  }
  return "";
}

std::string total_ms(const std::optional<double>& seconds) {
  return seconds ? format_significant(*seconds * 1e3, 4) : kNothing;
}

std::string ratio_text(const TimeRatio& ratio) {
  if (!ratio.ratio) return kNothing;
  if (!ratio.ratio_low) return fmt::format("{:.3f}", *ratio.ratio);
  return fmt::format("{:.3f} ({:.3f} .. {:.3f})", *ratio.ratio, *ratio.ratio_low, *ratio.ratio_high);
}

TextTable make_baseline_table(const BaselineComparison& comparison) {
  using Row = const RowComparison&;
  ColumnList<RowComparison> columns = columns_of_keys<RowComparison>(keys_of(comparison.rows));
  append(columns, {{"before ms", [](Row row) { return total_ms(row.seconds_before); }},
                   {"now ms", [](Row row) { return total_ms(row.seconds_now); }},
                   {"forward", [](Row row) { return ratio_text(row.ratios[0]); }},
                   {"bwd data", [](Row row) { return ratio_text(row.ratios[1]); }},
                   {"bwd weights", [](Row row) { return ratio_text(row.ratios[2]); }},
                   {"total", [](Row row) { return ratio_text(row.ratios[3]); }},
                   {"", verdict_text, Align::kLeft}});
  return table_of(columns, comparison.rows);
}

std::string summary_line(const BaselineComparison& comparison) {
  std::map<std::string, size_t> counts;
  for (const RowComparison& row : comparison.rows) ++counts[verdict_text(row)];
  return fmt::format(
      "{0} slower by more than {1:.3g} %, {2} gone, {3} faster by more than that, {4} equal within that, {5} "
      "undecided; only before: {6}, only now: {7}\n",
      counts["SLOWER"], 100 * comparison.tolerance, counts["GONE"], counts["faster"], counts[""], counts["undecided"],
      comparison.num_only_before, comparison.num_only_now + counts["new"]);
}

std::string processes_text(size_t count) { return counted(static_cast<int64_t>(count), "process"); }

bool has_too_few_processes(const RowComparison& row) {
  return !row.is_gone() && !row.is_new() && fewest_processes(row) < kMinProcessesForVerdict;
}

// Returns why rows have no verdict, with each reason once; "" if there are enough processes.
std::string too_few_lines(const BaselineComparison& comparison) {
  std::vector<std::string> lines;
  for (const RowComparison& row : comparison.rows) {
    if (!has_too_few_processes(row)) continue;
    const char* missing =
        fewest_processes(row) < kMinProcessesForInterval ? "no interval and no verdict" : "no verdict";
    add_once(lines,
             fmt::format("{} now and {} before: {} for a different process. An interval needs 3 processes on both "
                         "sides, a verdict needs 5: set processes.\n",
                         processes_text(row.processes_now), processes_text(row.processes_before), missing));
  }
  return join(lines, "");
}

std::string unclear_lines(const BaselineComparison& comparison) {
  const std::vector<KeyColumn> varying = varying_columns(keys_of(comparison.rows));
  std::string lines;
  for (const RowComparison& row : comparison.rows)
    if (row.verdict == TimeVerdict::kUndecided)
      lines += fmt::format("{} is undecided: between {:.3f} and {:.3f} of its time before\n",
                           row_label(row.key, varying), *row.ratios.back().ratio_low, *row.ratios.back().ratio_high);
  if (lines.empty()) return too_few_lines(comparison);
  return too_few_lines(comparison) + lines + "Use more processes on an idle machine to narrow an interval.\n";
}

}  // namespace

bool BaselineComparison::has_regression() const {
  return std::ranges::any_of(
      rows, [](const RowComparison& row) { return row.is_gone() || row.verdict == TimeVerdict::kSlower; });
}

void check_comparable(const BenchReport& now, const BenchReport& before, const std::string& file,
                      const BaselineOptions& options) {
  const std::vector<MatchedRow> matched = match_rows(now, before);
  if (matched.empty())
    throw_error(ExitCode::kUsage, "{}: no row has a layer and sizes that were measured now; it has {}", file,
                before.rows.empty() ? "none" : shared_text(keys_of(before.rows)));
  const std::vector<std::string> found = differences(now, before, matched).refused;
  if (!found.empty() && options.on_difference == OnDifference::kRefuse)
    throw_error(ExitCode::kUsage, "{} cannot be compared with:\n  {}\n  use --force to compare anyway", file,
                join(found, "\n  "));
}

BaselineComparison compare_to_baseline(const BenchReport& now, const BenchReport& before, const std::string& file,
                                       const BaselineOptions& options) {
  check_comparable(now, before, file, options);
  const std::vector<MatchedRow> matched = match_rows(now, before);
  Differences found = differences(now, before, matched);
  BaselineComparison comparison{.file = file,
                                .tolerance = options.tolerance,
                                .forced = std::move(found.refused),
                                .notes = std::move(found.noted),
                                .rows = {},
                                .num_only_before = before.rows.size() - std::min(before.rows.size(), matched.size()),
                                .num_only_now = now.rows.size() - matched.size()};
  for (const MatchedRow& row : matched)
    if (row.now->measurement || row.before->measurement)
      comparison.rows.push_back(compare_rows(row, options.tolerance));
  return comparison;
}

std::string baseline_text(const BaselineComparison& comparison) {
  std::string text = forced_lines(comparison.forced);
  text += fmt::format("now over {}, {}\n\n", comparison.file, shared_text(keys_of(comparison.rows)));
  text += make_baseline_table(comparison).text() + "\n";
  text += "Ratios of the processes' medians with 95 % intervals; below 1 is faster.\n" + summary_line(comparison) +
          unclear_lines(comparison);
  return text + lines_of_texts("", comparison.notes);
}

}  // namespace rnnlab
