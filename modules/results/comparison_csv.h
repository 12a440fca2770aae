// A comparison as CSV (RFC 4180), one line a group: numbers in full precision, absent ones empty, several reasons or
// warnings in one field with "; " between them.
#pragma once

#include <string>

#include "results/comparison.h"

namespace rnnlab {

std::string comparison_csv(const Comparison& comparison);

}  // namespace rnnlab
