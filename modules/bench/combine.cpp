#include "bench/combine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

using Reports = std::vector<BenchReport>;

// The rows at one place of the reports, null where a process has none.
std::vector<const BenchRow*> rows_at(const Reports& reports, size_t place) {
  std::vector<const BenchRow*> rows;
  for (const BenchReport& report : reports) rows.push_back(place < report.rows.size() ? &report.rows[place] : nullptr);
  return rows;
}

bool is_measured(const BenchRow* row) { return row != nullptr && row->measurement.has_value(); }

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

void add_seconds(std::optional<double>& sum, const std::optional<double>& seconds) {
  if (seconds) sum = sum.value_or(0) + *seconds;
}

void add_process(Measurement& all, const Measurement& one) {
  append(all.samples.forward, one.samples.forward);
  append(all.samples.forward_data, one.samples.forward_data);
  append(all.samples.all, one.samples.all);
  add_seconds(all.wall_seconds, one.wall_seconds);
  add_seconds(all.cpu_seconds, one.cpu_seconds);
}

Measurement joined(const std::vector<const BenchRow*>& rows) {
  Measurement all;
  for (const BenchRow* row : rows) {
    const int64_t rounds = is_measured(row) ? std::ssize(row->measurement->samples.all) : 0;
    all.rounds_by_process.push_back(rounds);
    if (rounds == 0) continue;
    if (all.iterations.empty()) all.iterations = row->measurement->iterations;
    add_process(all, *row->measurement);
  }
  all.seconds = part_times(by_process(all));
  return all;
}

// Over the processes that measured both layers.
void set_speedups(Measurement& own, const std::vector<const BenchRow*>& base_rows,
                  const std::vector<const BenchRow*>& rows) {
  std::vector<Samples3> base, samples;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!is_measured(base_rows[i]) || !is_measured(rows[i])) continue;
    base.push_back(base_rows[i]->measurement->samples);
    samples.push_back(rows[i]->measurement->samples);
  }
  if (base.empty()) return;
  own.speedup_forward = speedup(base, samples, &Samples3::forward);
  own.speedup_total = speedup(base, samples, &Samples3::all);
}

// What one process found out of a row beside its times.
void copy_findings(BenchRow& row, const BenchRow& from) {
  row.path = from.path;
  row.path_notes = from.path_notes;
  row.kernels = from.kernels;
  row.peak_memory_bytes = from.peak_memory_bytes;
}

std::string not_in_all(const std::vector<const BenchRow*>& rows) {
  std::string reason;
  for (const BenchRow* row : rows)
    if (row != nullptr && reason.empty()) reason = row->reason;
  return fmt::format("measured in {} of {}: {}", std::ranges::count_if(rows, is_measured),
                     counted(std::ssize(rows), "process"), reason);
}

BenchRow combine_row(const std::vector<const BenchRow*>& rows) {
  const auto first = std::ranges::find_if(rows, [](const BenchRow* row) { return row != nullptr; });
  const auto measured = std::ranges::find_if(rows, is_measured);
  if (measured == rows.end()) return **first;
  BenchRow row;
  row.key = (*measured)->key;
  row.measurement = joined(rows);
  const auto seen =
      std::ranges::find_if(rows, [](const BenchRow* one) { return one != nullptr && !one->path.empty(); });
  copy_findings(row, seen != rows.end() ? **seen : **measured);
  for (const BenchRow* one : rows)
    if (is_measured(one))
      for (const Warning& note : one->notes) add_once(row.notes, note);
  const bool has_failed =
      std::ranges::any_of(rows, [](const BenchRow* one) { return one != nullptr && !is_measured(one); });
  if (has_failed) row.notes.emplace_back(warning::kNotMeasured, not_in_all(rows));
  return row;
}

std::vector<Ceiling> highest_ceilings(const Reports& reports) {
  std::vector<Ceiling> highest;
  for (const BenchReport& report : reports)
    for (const Ceiling& one : report.ceilings) {
      const auto found = std::ranges::find_if(highest, [&](const Ceiling& other) {
        return other.device == one.device && other.precision == one.precision;
      });
      if (found == highest.end()) {
        highest.push_back(one);
        continue;
      }
      found->gemm_flops_per_second = std::max(found->gemm_flops_per_second, one.gemm_flops_per_second);
      found->copy_bytes_per_second = std::max(found->copy_bytes_per_second, one.copy_bytes_per_second);
    }
  return highest;
}

size_t num_with_kind(const Reports& reports, const std::string& kind) {
  return static_cast<size_t>(std::ranges::count_if(reports, [&](const BenchReport& report) {
    return std::ranges::find(report.warnings, kind, &Warning::kind) != report.warnings.end();
  }));
}

// As the first process that has a kind of warning says it: the others differ in their figures.
std::vector<Warning> combine_warnings(const Reports& reports) {
  std::vector<Warning> all;
  for (const BenchReport& report : reports) {
    const std::vector<Warning> known = all;
    for (const Warning& one : report.warnings) {
      if (one.kind == warning::kUnfinished) continue;
      if (std::ranges::find(known, one.kind, &Warning::kind) == known.end()) all.push_back(one);
    }
  }
  for (Warning& one : all)
    if (const size_t count = num_with_kind(reports, one.kind); count > 1)
      one.text += fmt::format(" ({} of {} processes have such a warning)", count, reports.size());
  return all;
}

const Ceiling* find_ceiling(const std::vector<Ceiling>& ceilings, const RowKey& key) {
  const auto found = std::ranges::find_if(
      ceilings, [&](const Ceiling& one) { return one.device == key.device && one.precision == key.precision; });
  return found == ceilings.end() ? nullptr : &*found;
}

}  // namespace

BenchReport combine(const std::vector<BenchReport>& reports, const BenchSettings& settings) {
  RNNLAB_INVARIANT(!reports.empty(), "a benchmark of no process");
  if (reports.size() == 1) return reports[0];
  BenchReport combined;
  combined.environment = reports[0].environment;
  combined.ceilings = highest_ceilings(reports);
  combined.warnings = combine_warnings(reports);
  const std::vector<Combination> combinations = expand(settings);
  const size_t num_layers = settings.layer.size();
  const size_t num_rows =
      std::ranges::max(reports, {}, [](const BenchReport& one) { return one.rows.size(); }).rows.size();
  for (size_t place = 0; place < num_rows; ++place) {
    const std::vector<const BenchRow*> rows = rows_at(reports, place);
    BenchRow& row = combined.rows.emplace_back(combine_row(rows));
    if (!row.measurement) continue;
    set_speedups(*row.measurement, rows_at(reports, place - place % num_layers), rows);
    if (const Ceiling* ceiling = find_ceiling(combined.ceilings, row.key))
      row.measurement->rates = part_rates(row.measurement->seconds, combinations.at(place / num_layers), *ceiling);
  }
  return combined;
}

}  // namespace rnnlab
