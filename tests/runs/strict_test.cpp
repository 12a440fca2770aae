// SPDX-License-Identifier: Apache-2.0
#include "runs/strict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/comparison.h"
#include "results/work_settings.h"
#include "runs/run.h"
#include "runs/run_context.h"
#include "runs/support.h"
#include "runs/sweep.h"
#include "runs/tiny_experiment.h"

namespace rnnlab {
namespace {

using testing::cases_of;
using testing::kTinyYaml;
using testing::TemporaryFolder;
using testing::tiny_experiment;

std::string refusal_of_run(const std::vector<std::string>& overrides, const TemporaryFolder& out) {
  try {
    testing::run_quietly(tiny_experiment(overrides), out.path());
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kDevice);
    return error.what();
  }
  return "";
}

TEST(Strict, RefusesARunThatWouldUseSomethingElse) {
  const TemporaryFolder out;
  expect_golden(refusal_of_run({"strict=true", "precision=tf32", "training.cuda_graph=true"}, out));
  EXPECT_TRUE(std::filesystem::is_empty(out.path())) << "no run folder is made";
}

TEST(Strict, LetsARunThatUsesWhatIsAskedTrain) {
  const TemporaryFolder out;
  EXPECT_EQ(refusal_of_run({"strict=true", "training.epochs=1"}, out), "");
}

TEST(Strict, IsOffByDefault) {
  const TemporaryFolder out;
  EXPECT_EQ(refusal_of_run({"precision=tf32", "training.cuda_graph=true", "training.epochs=1"}, out), "");
}

TEST(Strict, IsCheckedBeforeARun) {
  expect_golden(unsupported_here(tiny_experiment({"strict=true", "precision=tf32"}), AskGpu::kYes));
  EXPECT_EQ(unsupported_here(tiny_experiment({"precision=tf32"}), AskGpu::kYes), std::nullopt);
}

TEST(Strict, NamesTheCodeThatRanInPlaceOfALayer) {
  const ExecutionPath path = observe_execution_path([] {
    for (int step = 0; step < 2; ++step)
      report_fallback([] {
        return PathFallback{"layer", "the code of layer: hoisted", "blocked has no kernels for bfloat16"};
      });
  });
  const UsedByRun used{.path = path, .precision = "fp32", .why_no_graphs = ""};
  expect_golden(strict_message(fallbacks_of_run(tiny_experiment({"layer=blocked"}), c10::kCPU, used)));
  EXPECT_TRUE(fallbacks_of_run(tiny_experiment({"layer=auto"}), c10::kCPU, used).empty()) << "auto accepts every code";
}

TEST(Strict, NamesWhatAGpuRefuses) {
  const ExecutionPath path;
  const UsedByRun used{.path = path,
                       .precision = "bf16 (emulated, because this GPU has none)",
                       .why_no_graphs = "the samples are not on the GPU (data.placement)"};
  Experiment experiment = tiny_experiment({"training.cuda_graph=true"});
  experiment.precision = Precision::kBf16;
  expect_golden(strict_message(fallbacks_of_run(experiment, c10::Device(c10::kCUDA, 0), used)));
}

TEST(Strict, DoesNotChangeTheComparedWork) {
  const Experiment strict = tiny_experiment({"strict=true"}), other = tiny_experiment();
  EXPECT_EQ(work_hashes(effective_settings(strict)), work_hashes(effective_settings(other)));
  EXPECT_EQ(comparison_of(strict), comparison_of(other));
}

TEST(Strict, RunsWithAndWithoutItAreOneSideOfAComparison) {
  const TemporaryFolder out;
  Logger logger(Verbosity::kErrors, Terminal{});
  const auto all =
      run_all(cases_of(std::string(kTinyYaml) + "sweep: {strict: [false, true]}\n"), {.out = out.path()}, logger);
  ASSERT_EQ(all.finished.size(), 2u);
  const std::vector<RunRecord> runs = {load_run(all.finished[0].folder), load_run(all.finished[1].folder)};
  EXPECT_EQ(group_runs(runs).size(), 1u);
}

TEST(Strict, MayChangeWhenARunIsResumed) {
  EXPECT_TRUE(Experiment::schema().spec().may_change("strict", config::Change::kOnResume));
  EXPECT_FALSE(Experiment::schema().spec().may_change("strict", config::Change::kOnUse));
}

}  // namespace
}  // namespace rnnlab
