#include "results/straggler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/sample_rows.h"

namespace rnnlab::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Epochs of 2 s, of which half a second went into the exchange, and whose slowest process took so many times as long
// as the fastest. The first is warm-up.
std::vector<EpochRow> rows_of_processes(const std::vector<double>& quotients) {
  std::vector<EpochRow> rows = sample_rows(std::vector<double>(quotients.size(), 2));
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].exchange_seconds = 0.5;
    rows[i].slowest_process_seconds = 1.5;
    rows[i].fastest_process_seconds = 1.5 / quotients[i];
  }
  rows[0].warmup = true;
  return rows;
}

TEST(Straggler, IsNoneInARunOfOneProcess) {
  EXPECT_FALSE(slowest_over_fastest(sample_rows({9, 2, 2})));
  EXPECT_FALSE(exchange_share(sample_rows({9, 2, 2})));
  EXPECT_THAT(straggler_warnings(sample_rows({9, 2, 2})), IsEmpty());
}

TEST(Straggler, IsToldOfByTheMedianEpoch) {
  const auto warnings = straggler_warnings(rows_of_processes({1, 1.5, 1.25, 1.0}));
  EXPECT_THAT(texts_of(warnings),
              ElementsAre("straggler: the slowest process of an epoch computes 25 % longer than the fastest (median), "
                          "and the others wait for it; look what else its CPUs or its GPU do"));
  EXPECT_EQ(warnings.at(0).kind, warning::kStraggler);
}

TEST(Straggler, IsNoneForATwentiethOrOneEpoch) {
  EXPECT_THAT(straggler_warnings(rows_of_processes({9, 1.04, 1.04, 1.04})), IsEmpty());
  EXPECT_THAT(straggler_warnings(rows_of_processes({1, 1, 3, 1})), IsEmpty());
  EXPECT_THAT(straggler_warnings(rows_of_processes({1, 1.06, 1.06, 1})), ::testing::SizeIs(1));
}

TEST(Straggler, IsNoneWhereNothingWasComputed) {
  std::vector<EpochRow> rows = rows_of_processes({1, 1});
  rows[1].fastest_process_seconds = 0;
  EXPECT_THAT(straggler_warnings(rows), IsEmpty());
}

TEST(ExchangeShare, IsOfTheMedianEpochAfterWarmUp) {
  std::vector<EpochRow> rows = rows_of_processes({1, 1, 1, 1});
  rows[0].exchange_seconds = 2;
  rows[3].exchange_seconds = 1;
  EXPECT_EQ(exchange_share(rows), 0.25);
}

}  // namespace
}  // namespace rnnlab::testing
