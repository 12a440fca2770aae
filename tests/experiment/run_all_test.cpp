#include "experiment/run_all.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiment/tiny_experiment.h"
#include "results/temporary_folder.h"

namespace rnnlab {
namespace {

using testing::cases_of;
using testing::kTinyYaml;
using testing::TemporaryFolder;

RunAllOutcome run_quietly(const std::vector<ExperimentCase>& cases, const TemporaryFolder& out) {
  Logger logger(Verbosity::kQuiet, Terminal{});
  return run_all(cases, {.out = out.path(), .command_line = {}, .console = {}}, logger);
}

TEST(ReadCases, GivesOneCaseForEachCombination) {
  const auto cases = cases_of("sweep: {layer: [naive, fused], model.hidden_size: [8, 16]}\n");
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(cases[0].label, "layer=naive hidden_size=8");
  EXPECT_EQ(cases[3].label, "layer=fused hidden_size=16");
  EXPECT_EQ(cases[3].experiment.model.hidden_size, 16);
}

TEST(RunAll, RunsEveryCombination) {
  const TemporaryFolder out;
  const auto all = run_quietly(cases_of(std::string(kTinyYaml) + "sweep: {layer: [naive, fused]}\n"), out);
  EXPECT_EQ(all.exit_code, ExitCode::kDone);
  ASSERT_EQ(all.finished.size(), 2u);
  EXPECT_EQ(all.finished[0].summary.layer, "naive");
}

TEST(RunAll, GoesOnAfterACombinationThatFailsAndTellsByItsExitCode) {
  const TemporaryFolder out;
  const auto all = run_quietly(cases_of(std::string(kTinyYaml) + "sweep: {device: [cuda:99, cpu]}\n"), out);
  EXPECT_EQ(all.exit_code, ExitCode::kDevice);
  ASSERT_EQ(all.finished.size(), 1u);
  EXPECT_EQ(all.finished[0].summary.device, "cpu");
}

}  // namespace
}  // namespace rnnlab
