// Which scale shows some values best.
#pragma once

#include <vector>

#include "report/chart.h"

namespace rnnlab::report {

// Logarithmic where all finite values are above 0 and the largest is more than 20 times the least.
Scale scale_for(const std::vector<double>& values);

}  // namespace rnnlab::report
