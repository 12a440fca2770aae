// SPDX-License-Identifier: Apache-2.0
// Compares a benchmark with a stored one of the same grid, row by row, to detect layers that became slower. If a side
// has one process, the ratio has no interval, because a different process would give a different ratio.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "results/comparison.h"
#include "runs/bench/bench_report.h"

namespace rnnlab {

struct BaselineOptions {
  OnDifference on_difference = OnDifference::kRefuse;
  // A row is slower, or faster, if the whole interval differs from 1 by more than this, and equal if all of it does
  // not.
  double tolerance = 0.05;
};

struct RowComparison {
  RowKey key;
  std::optional<double> seconds_before, seconds_now;  // of the total
  size_t processes_before = 0, processes_now = 0;     // processes that measured the row
  // The times now divided by the times before, of each of kParts; without a ratio if a time was not above zero in each
  // process.
  std::array<TimeRatio, kParts.size()> ratios;
  // kSlower: one of its parts is slower; else the verdict on the total, kNone if a side did not measure the row.
  TimeVerdict verdict = TimeVerdict::kNone;

  bool is_gone() const { return !seconds_now; }    // only the earlier benchmark measured the row
  bool is_new() const { return !seconds_before; }  // only the present benchmark measured it
};

struct BaselineComparison {
  std::string file;
  double tolerance = 0;
  std::vector<std::string> forced;  // reasons against the comparison that --force overrides
  std::vector<std::string> notes;   // further differences, and conditions that were not recorded
  std::vector<RowComparison> rows;  // rows of both sides that at least one side measured
  size_t num_only_before = 0, num_only_now = 0;

  bool has_regression() const;
};

// Checks whether compare_to_baseline would refuse, but reads only environments and keys: `now` need not be measured
// yet. `file` is the name of `before` in messages. Throws UserError kUsage, with every reason, if GPU, CPU, build,
// precision or a condition that results/conditions.h refuses differs and the comparison is not forced, or if the two
// have no row in common. If all rows are on a GPU, only the driver, the GPU's power limit and variables are refused;
// further conditions are notes.
void check_comparable(const BenchReport& now, const BenchReport& before, const std::string& file,
                      const BaselineOptions& options);

// Calls check_comparable and then compares.
BaselineComparison compare_to_baseline(const BenchReport& now, const BenchReport& before, const std::string& file,
                                       const BaselineOptions& options);

std::string baseline_text(const BaselineComparison& comparison);

}  // namespace rnnlab
