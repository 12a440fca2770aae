// The result of a comparison in sentences, with the digits of its table.
#pragma once

#include <string>
#include <vector>

#include "results/comparison.h"

namespace rnnlab::report {

// A sentence for each group that was set against the baseline; of more than eight, for the fastest and the slowest.
// Each begins with "NOT COMPARABLE: " where the comparison had to be forced.
std::vector<std::string> headlines(const Comparison& comparison);

}  // namespace rnnlab::report
