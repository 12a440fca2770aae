// Curves of one group as one curve, for a table that has room for a column a group. Charts keep a curve for each run.
#pragma once

#include <string>

#include "report/chart.h"

namespace rnnlab::report {

struct PooledCurves {
  Curves curves;     // of several runs "cpu fused (5 runs)"; a single one, and one with intervals, as it was
  std::string rule;  // "of several runs the geometric mean"; "" where nothing was pooled
};

// At each x the geometric mean of seconds, as in the comparison's table, and the median of any other quantity, over the
// runs that have a value there. Not a number where one of these diverged.
PooledCurves pooled_by_group(const Curves& chart);

}  // namespace rnnlab::report
