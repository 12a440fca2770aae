#include "experiment/cases.h"

#include <gmock/gmock.h>

#include "base/expect_error.h"
#include "experiment/tiny_experiment.h"

namespace rnnlab::testing {
namespace {

SweepPlan plan_of(const std::string& more, Spread spread = Spread::kRounds) {
  return plan_sweep(cases_of(kTinyYaml + more), spread, {"rnnlab"});
}

TEST(PlanSweep, KeepsTheSidesOfAComparisonTogether) {
  const SweepPlan plan = plan_of("sweep: {seed: [1, 2, 3], layer: [naive, fused]}\n");
  EXPECT_EQ(plan.num_tasks(), 3) << "one of each seed";
  EXPECT_EQ(plan.num_runs(), 6);
  EXPECT_EQ(plan_of("sweep: {seed: [1, 2, 3], layer: [naive, fused]}\n", Spread::kRuns).num_tasks(), 6);
}

TEST(PlanSweep, TakesApartWhatCannotBeCompared) {
  EXPECT_EQ(plan_of("sweep: {training.batch_size: [10, 20]}\n").num_tasks(), 2);
  EXPECT_EQ(plan_of("sweep: {precision: [fp32, tf32]}\n").num_tasks(), 2);
  EXPECT_EQ(plan_of("sweep: {model.hidden_size: [8, 16]}\n").num_tasks(), 2);
  EXPECT_EQ(plan_of("sweep: {data.num_train: [100, 200]}\n").num_tasks(), 2);
  EXPECT_EQ(plan_of("sweep: {training.cuda_graph: [false, true]}\n").num_tasks(), 1) << "does the same work";
}

TEST(PlanSweep, MakesARunOfEachRepeat) {
  const SweepPlan plan = plan_of("sweep: {layer: [naive, fused]}\nrepeats: 5\n");
  EXPECT_EQ(plan.num_tasks(), 5);
  EXPECT_EQ(plan.num_runs(), 10);
  EXPECT_EQ(plan.tasks[4].runs[1].round, 5);
  EXPECT_EQ(plan.tasks[4].runs[1].position, 2);
}

TEST(PlanSweep, KeepsExperimentsWhole) {
  const SweepPlan plan = plan_of("sweep: {seed: [1, 2]}\n");
  EXPECT_EQ(cases_of(plan.cases[1].experiment)[0].experiment.seed, 2);
}

TEST(PlanSweep, RefusesRoundsUpToAPrecision) {
  expect_error(
      ExitCode::kUsage,
      "tiny: repeats.until needs results, but a plan is fixed before there are any; use a number, such as repeats=5",
      [] { plan_of("repeats: {until: 1 %, at_most: 20}\n"); });
}

}  // namespace
}  // namespace rnnlab::testing
