#include "report/scale.h"

#include <algorithm>
#include <cmath>

namespace rnnlab::report {

Scale scale_for(const std::vector<double>& values) {
  constexpr double kWide = 20;
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double value) { return std::isfinite(value); });
  if (finite.empty()) return Scale::kLinear;
  const auto [least, most] = std::ranges::minmax(finite);
  return least > 0 && most > kWide * least ? Scale::kLogarithmic : Scale::kLinear;
}

}  // namespace rnnlab::report
