// The result of a comparison in sentences, with the digits of its table.
#pragma once

#include <string>
#include <vector>

#include "results/comparison.h"

namespace rnnlab::report {

// "NOT COMPARABLE: " where the comparison had to be forced, for titles that travel alone; else "".
std::string not_comparable(const Comparison& comparison);

// A sentence for each group that was set against the baseline; of more than eight, for the fastest and the slowest.
// Each begins with not_comparable.
std::vector<std::string> headlines(const Comparison& comparison);

}  // namespace rnnlab::report
