// A benchmark against a stored one of the same grid, row by row: whether what was built since is slower. Sides of one
// process have a ratio without an interval, because another process would give another one.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "bench/report.h"
#include "results/comparison.h"

namespace rnnlab {

struct AgainstOptions {
  OnDifference on_difference = OnDifference::kRefuse;
  double tolerance = 0.05;  // a row is slower, or faster, if the whole interval lies beyond 1 by more than this
};

// Of a row that both sides measured in at least 5 processes. kSlower: one of its parts is. kSame: the interval of its
// total lies within the tolerance; kUnclear: it reaches beyond, or a side has fewer processes. kGone: was measured
// before, and is not now; kNew: the other way round.
enum class Verdict { kSame, kFaster, kSlower, kUnclear, kGone, kNew };

struct RowAgainst {
  RowKey key;
  Verdict verdict = Verdict::kSame;
  std::optional<double> seconds_before, seconds_now;  // of the total
  size_t processes_before = 0, processes_now = 0;     // that measured it
  // Now over before; none where a difference was not above zero in each process. With fewer than 3 processes on a side
  // the interval is the ratio alone.
  std::array<std::optional<Estimate>, kParts.size()> ratios;
};

struct BaselineComparison {
  std::string file;
  double tolerance = 0;
  std::vector<std::string> forced;  // why it should not have been compared
  std::vector<std::string> notes;   // what else is not as it was, or was not recorded
  std::vector<RowAgainst> rows;     // that both have and that one of them measured
  size_t num_only_before = 0, num_only_now = 0;

  bool has_regression() const;
};

// Refuses what compare_to_baseline would, but looks at environments and keys only: `now` need not be measured yet.
// `file` names `before` in messages. UserError kUsage, with every reason, where GPU, CPU, build, precision or a
// condition that results/conditions.h refuses differ and that is not forced; also where no row of the two is the same.
// For rows on a GPU that holds for the driver and for variables, and the rest of its host is told.
void check_comparable(const BenchReport& now, const BenchReport& before, const std::string& file,
                      const AgainstOptions& options);

// Checks the same first.
BaselineComparison compare_to_baseline(const BenchReport& now, const BenchReport& before, const std::string& file,
                                       const AgainstOptions& options);

std::string against_text(const BaselineComparison& against);

}  // namespace rnnlab
