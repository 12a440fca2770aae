// One report from those of several processes that measured the same grid: the means of their numbers with intervals. A
// pure function.
#pragma once

#include <vector>

#include "bench/report.h"

namespace rnnlab {

// Rows of equal place are of one combination and layer; a report that was cut short has fewer. A row is measured if
// one process measured it, and its speed-up pairs the processes that measured both layers. Warnings of one kind are
// told once, and a ceiling is the highest. At least one report; `settings` are those that all of them share.
BenchReport combine(const std::vector<BenchReport>& reports, const BenchSettings& settings);

}  // namespace rnnlab
