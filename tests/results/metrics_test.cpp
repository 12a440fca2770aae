// SPDX-License-Identifier: Apache-2.0
#include "results/metrics.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "results/epoch_row.h"

namespace rnnlab {
namespace {

using ::testing::DoubleEq;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(MetricList, HasEachNameOnce) {
  std::set<std::string_view> names;
  for (const MetricInfo& metric : metric_list()) EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
}

TEST(MetricList, HasACompleteRecordOfEach) {
  for (const MetricInfo& metric : metric_list()) {
    EXPECT_FALSE(metric.heading.empty() || metric.help.empty() || metric.tasks.empty()) << metric.name;
    const MetricRange& range = metric.range;
    EXPECT_TRUE(range.least <= range.perfect && range.perfect <= range.most) << metric.name;
  }
}

TEST(MetricList, HasAColumnOfEachForEachOfItsParts) {
  const auto columns = epoch_columns();
  for (const std::string& name : metric_columns()) EXPECT_EQ(std::ranges::count(columns, name, &EpochColumn::name), 1);
  const auto num_metrics = std::ranges::count(columns, ColumnRole::kMetric, &EpochColumn::role);
  EXPECT_EQ(std::ssize(metric_columns()), num_metrics);
}

TEST(FindMetric, IsByTheNameWithOrWithoutThePart) {
  for (const char* name : {"rmse", "train_rmse", "valid_rmse"}) EXPECT_EQ(find_metric(name)->heading, "RMSE") << name;
  for (const char* name : {"", "valid_", "test_rmse", "valid_seconds"}) EXPECT_EQ(find_metric(name), nullptr) << name;
}

TEST(MetricsOf, AreThoseOfTheTask) {
  const Totals totals{.loss_sum = 12, .weighted_loss_sum = 36, .metric_sum = 2, .count = 4};
  EXPECT_THAT(metrics_of(totals, MetricTask::kClasses, 1),
              UnorderedElementsAre(Pair("loss", 3), Pair("accuracy", 0.5)));
  EXPECT_THAT(metrics_of(totals, MetricTask::kBinary, 1), UnorderedElementsAre(Pair("loss", 3), Pair("accuracy", 0.5)));
  EXPECT_THAT(metrics_of(totals, MetricTask::kTokens, 1),
              UnorderedElementsAre(Pair("loss", 3), Pair("accuracy", 0.5), Pair("perplexity", DoubleEq(std::exp(3.0))),
                                   Pair("bits_per_character", DoubleEq(3 / std::log(2.0)))));
  EXPECT_THAT(metrics_of(totals, MetricTask::kNumbers, 10),
              UnorderedElementsAre(Pair("loss", 3), Pair("mae", 5), Pair("rmse", 30)));
}

TEST(MetricsOf, NeedATarget) { EXPECT_THROW(metrics_of({}, MetricTask::kClasses, 1), InvariantError); }

}  // namespace
}  // namespace rnnlab
