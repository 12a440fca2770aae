#include "results/student_t.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rnnlab {
namespace {

struct Quantile {
  double q, degrees_of_freedom, expected;
};

class StudentT : public ::testing::TestWithParam<Quantile> {};

TEST_P(StudentT, HasSciPysQuantiles) {
  const Quantile golden = GetParam();
  EXPECT_NEAR(student_t_quantile(golden.q, golden.degrees_of_freedom), golden.expected,
              1e-8 * std::abs(golden.expected) + 1e-12);
}

// scipy.stats.t.ppf(q, degrees_of_freedom), SciPy 1.17.
INSTANTIATE_TEST_SUITE_P(
    SciPy, StudentT,
    ::testing::Values(Quantile{0.975, 1, 12.706204736174694}, Quantile{0.975, 2, 4.302652729749462},
                      Quantile{0.975, 2.5, 3.5746548420036817}, Quantile{0.975, 3.7, 2.8675207071911895},
                      Quantile{0.975, 4, 2.7764451051977934}, Quantile{0.975, 9, 2.262157162798205},
                      Quantile{0.975, 17.3, 2.1070320037534676}, Quantile{0.975, 100, 1.9839715185235518},
                      Quantile{0.975, 1e6, 1.959966356814107}, Quantile{0.95, 3, 2.3533634348018233},
                      Quantile{0.995, 2, 9.924843200918287}, Quantile{0.6, 5, 0.2671808657041451},
                      Quantile{0.025, 4, -2.7764451051977943}, Quantile{0.9999, 6.5, 7.486928276387916},
                      Quantile{0.5001, 3, 0.00027206990911051864}, Quantile{0.5, 3, 0}));

}  // namespace
}  // namespace rnnlab
