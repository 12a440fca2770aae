// A comparison for reading on a terminal: first why it should not be trusted, if so, then the table, then the small
// print.
#pragma once

#include <string>

#include "results/comparison.h"

namespace rnnlab {

std::string comparison_text(const Comparison& comparison);

}  // namespace rnnlab
