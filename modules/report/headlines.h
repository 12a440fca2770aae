// Summarises a comparison in sentences, with the digits of its table.
#pragma once

#include <string>
#include <vector>

#include "results/comparison.h"

namespace rnnlab::report {

// Returns "NOT COMPARABLE: " if the comparison was forced, for titles that may be quoted alone; else "".
std::string not_comparable(const Comparison& comparison);

// Returns a sentence for each group that was compared with the baseline; for more than eight groups, only for the
// fastest and the slowest. Each sentence begins with not_comparable.
std::vector<std::string> headlines(const Comparison& comparison);

}  // namespace rnnlab::report
