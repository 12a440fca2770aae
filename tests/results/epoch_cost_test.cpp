// SPDX-License-Identifier: Apache-2.0
#include "results/epoch_cost.h"

#include <gmock/gmock.h>

#include "golden.h"
#include "results/comparison_output.h"
#include "results/sample_runs.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;
using testing::sample_rows;

// Epochs of 2 s with 120,000 samples; the first is a warm-up.
RunRecord run_on(const std::string& device, std::optional<double> EpochRow::*joules) {
  RunRecord run;
  run.summary.device = device;
  run.rows = sample_rows({2, 2, 2, 2});
  run.rows[0].warmup = true;
  for (EpochRow& row : run.rows) row.*joules = 100 * static_cast<double>(row.epoch);
  return run;
}

TEST(EpochCost, IsTheMedianOfTheTimedEpochs) {
  const std::vector<RunRecord> runs = {run_on("cuda:0", &EpochRow::gpu_joules)};
  const auto energy = energy_use(testing::group_of(runs));
  ASSERT_TRUE(energy);
  EXPECT_EQ(energy->joules, 300) << "of 200, 300 and 400";
  EXPECT_EQ(energy->watts, 150);
  EXPECT_EQ(energy->joules_per_sample, 300.0 / 120000);
  EXPECT_FALSE(energy->is_of_cpu);
  EXPECT_FALSE(energy->is_shared);
}

TEST(EpochCost, OfARunOnTheCpuIsThatOfTheProcessors) {
  const std::vector<RunRecord> runs = {run_on("cpu", &EpochRow::cpu_joules)};
  EXPECT_TRUE(energy_use(testing::group_of(runs))->is_of_cpu);
  const std::vector<RunRecord> without = {run_on("cpu", &EpochRow::gpu_joules)};
  EXPECT_FALSE(energy_use(testing::group_of(without)));
}

TEST(EpochCost, LeavesOutEpochsThatTheCounterCannotResolve) {
  EpochRow row = testing::sample_row(2, 0.9);
  row.gpu_joules = 5;
  EXPECT_FALSE(counted_joules(row, false)) << "less than a second";
  row.train_seconds = 1;
  EXPECT_THAT(counted_joules(row, false), Optional(5.0));
  row.warmup = true;
  EXPECT_FALSE(counted_joules(row, false));
}

TEST(EpochCost, IsMarkedIfAnotherProgramUsedTheDevice) {
  std::vector<RunRecord> runs = {run_on("cuda:0", &EpochRow::gpu_joules), run_on("cuda:0", &EpochRow::gpu_joules)};
  runs[1].summary.warnings.emplace_back(warning::kCpuShared, "the CPU was shared");
  EXPECT_FALSE(energy_use(testing::group_of(runs))->is_shared) << "the energy is that of the GPU";
  runs[1].summary.warnings.emplace_back(warning::kGpuShared, "the GPU was shared");
  EXPECT_TRUE(energy_use(testing::group_of(runs))->is_shared);
}

TEST(EpochCost, HasTheShareOfTheBestRate) {
  std::vector<RunRecord> runs = {run_on("cpu", &EpochRow::cpu_joules)};
  EXPECT_FALSE(share_of_best_rate(testing::group_of(runs))) << "the best rate was not measured";
  // 60,000 samples a second of 1e6 operations each, on a device that does 2.4e11.
  runs[0].summary.product_work = {.flops_per_sample = 1e6, .best_flops_per_second = 2.4e11};
  EXPECT_THAT(share_of_best_rate(testing::group_of(runs)), Optional(0.25));
}

TEST(EpochCost, HasNoShareOfAWarmUp) {
  const ProductWork work = {.flops_per_sample = 1e6, .best_flops_per_second = 2.4e11};
  EpochRow row = testing::sample_row(1, 2);
  EXPECT_THAT(share_of_best_rate(row, work), Optional(0.25));
  row.warmup = true;
  EXPECT_FALSE(share_of_best_rate(row, work));
}

TEST(EpochCost, HasThePriceOfAnEpoch) {
  const std::vector<RunRecord> runs = {testing::process_record("a", {2})};
  EXPECT_FALSE(epoch_cost(testing::group_of(runs), 2, std::nullopt)) << "nothing is known";
  EXPECT_FALSE(epoch_cost(testing::group_of(runs), std::nullopt, 3.6)) << "there is no time";
  EXPECT_THAT(epoch_cost(testing::group_of(runs), 2, 3.6)->price, Optional(0.002));
}

Comparison comparison_of_costs() {
  Comparison comparison;
  comparison.baseline = "cpu naive";
  comparison.groups.resize(2);
  comparison.groups[0].label = "cpu naive";
  comparison.groups[1].label = "cpu fused";
  for (GroupResult& group : comparison.groups) group.ended = "complete";
  comparison.groups[1].cost = EpochCost{
      .energy = EnergyUse{
          .joules = 123.456, .watts = 61.728, .joules_per_sample = 0.00102880, .is_of_cpu = true, .is_shared = true}};
  return comparison;
}

TEST(CostTable, HasAColumnForEachKnownPart) {
  const TextTable table = cost_table(comparison_of_costs());
  EXPECT_THAT(table.rows(), ElementsAre(ElementsAre("cpu naive", "-", "-", "-"),
                                        ElementsAre("cpu fused", "123.5*", "0.001029", "61.73")));
  expect_golden(cost_legend(comparison_of_costs()));
}

TEST(CostTable, IsDividedOnANarrowTerminal) {
  const std::string text = comparison_text(comparison_of_costs(), 30, Detail::kAll);
  EXPECT_THAT(text, HasSubstr("\nrun        J/epoch  J/sample\n"));
  EXPECT_THAT(text, HasSubstr("\n\nrun            W\n"));
}

TEST(CostTable, IsLeftOutWithoutCosts) {
  Comparison comparison = comparison_of_costs();
  EXPECT_THAT(comparison_text(comparison, kAnyWidth, Detail::kAll), HasSubstr("J/epoch"));
  EXPECT_THAT(comparison_text(comparison), Not(HasSubstr("J/epoch"))) << "nobody asked for it";
  comparison.groups[1].cost.reset();
  EXPECT_TRUE(cost_table(comparison).rows().empty());
  EXPECT_THAT(comparison_text(comparison, kAnyWidth, Detail::kAll), Not(HasSubstr("J/epoch")));
  EXPECT_THAT(comparison_json(comparison), Not(HasSubstr("joules")));
}

TEST(CostTable, IsInCsvAndJson) {
  EXPECT_THAT(comparison_csv(comparison_of_costs()), HasSubstr(",123.456,61.728,0.0010288,1,1,,,\n"));
  EXPECT_THAT(comparison_json(comparison_of_costs()), HasSubstr("\"watts\": 61.728"));
}

}  // namespace
}  // namespace rnnlab
