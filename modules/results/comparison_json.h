// A comparison as JSON with its schema version: everything that `Comparison` holds, under the same names.
#pragma once

#include <string>

#include "results/comparison.h"

namespace rnnlab {

std::string comparison_json(const Comparison& comparison);

}  // namespace rnnlab
