#include "results/student_t.h"

#include <cmath>
#include <limits>

#include "base/error.h"

namespace rnnlab {
namespace {

// A denominator of the continued fraction, kept away from zero (Lentz's method).
double not_zero(double value) {
  constexpr double kTiny = 1e-300;
  return std::abs(value) < kTiny ? kTiny : value;
}

// The continued fraction of the incomplete beta function (Abramowitz and Stegun, 26.5.8). It converges fast for
// x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr int kMostTerms = 10000;
  constexpr double kPrecision = std::numeric_limits<double>::epsilon();
  double c = 1;
  double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < kPrecision) break;
  }
  return fraction;
}

// I_x(a, b), with y = 1 - x, which the caller knows to more digits where x is near 1.
double regularized_beta(double a, double b, double x, double y) {
  if (x <= 0 || y <= 0) return x <= 0 ? 0 : 1;
  const double log_front = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(y);
  if (x < (a + 1) / (a + b + 2)) return std::exp(log_front) * beta_fraction(a, b, x) / a;
  return 1 - std::exp(log_front) * beta_fraction(b, a, y) / b;
}

// P(T > t) for t >= 0.
double upper_tail(double t, double degrees_of_freedom) {
  const double sum = degrees_of_freedom + t * t;
  return regularized_beta(degrees_of_freedom / 2, 0.5, degrees_of_freedom / sum, t * t / sum) / 2;
}

// Where the upper tail, which falls, is `tail`.
double quantile_of_upper_tail(double tail, double degrees_of_freedom) {
  double low = 0, high = 1;
  while (upper_tail(high, degrees_of_freedom) > tail) high *= 2;
  for (double middle = high / 2; low < middle && middle < high; middle = low + (high - low) / 2)
    (upper_tail(middle, degrees_of_freedom) > tail ? low : high) = middle;
  return high;
}

}  // namespace

double student_t_quantile(double q, double degrees_of_freedom) {
  RNNLAB_INVARIANT(q > 0 && q < 1 && degrees_of_freedom > 0, "a t quantile outside its range");
  if (q == 0.5) return 0;
  if (q < 0.5) return -quantile_of_upper_tail(q, degrees_of_freedom);
  return quantile_of_upper_tail(1 - q, degrees_of_freedom);
}

}  // namespace rnnlab
