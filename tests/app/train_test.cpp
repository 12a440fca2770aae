// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "app/program.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::kTinyYaml;
using ::testing::Not;
using testing::Program;
using testing::read_text;

TEST(Train, LogsToStderrAndEndsWithOneLineAndTheFolder) {
  const Program program(kTinyYaml);
  const auto result = program.run({"train", "tiny.yaml"}, 0);
  EXPECT_TRUE(result.output.starts_with("tiny: fused on cpu, ")) << result.output;
  ASSERT_EQ(program.run_folders("tiny").size(), 1u);
  EXPECT_THAT(result.errors, HasSubstr("epoch"));
  EXPECT_THAT(result.errors, Not(HasSubstr("\r"))) << "no progress bar where there is no terminal";
}

TEST(Train, QuietSaysNothingButTheResult) {
  const Program program(kTinyYaml);
  const auto result = program.run({"train", "tiny.yaml", "--quiet", "--out", "elsewhere"}, 0);
  EXPECT_THAT(result.errors, Not(HasSubstr("train loss")));  // the table of epochs
  EXPECT_TRUE(std::filesystem::exists(program.folder() / "elsewhere" / "tiny"));
}

TEST(Train, ADryRunWritesNothing) {
  const Program program(kTinyYaml);
  const auto result = program.run({"train", "tiny.yaml", "--dry-run"}, 0);
  EXPECT_FALSE(std::filesystem::exists(program.folder() / "runs"));
  for (const char* head : {"device    ", "layer     fused", "data      ", "weight_ih_l0", "path      "})
    EXPECT_THAT(result.errors, HasSubstr(head));
  EXPECT_THAT(result.errors, Not(HasSubstr("run       "))) << "there is no run folder";
  EXPECT_THAT(result.output, HasSubstr("; dry run: "));
  const auto json = program.run({"train", "tiny.yaml", "--dry-run", "--quiet", "--json"});
  EXPECT_THAT(json.errors, Not(HasSubstr("layer     fused")));
  EXPECT_EQ(nlohmann::json::parse(json.output).at("num_steps"), 12);
}

TEST(Train, ADryRunHasTheExitCodesOfTraining) {
  const Program program(kTinyYaml);
  program.run({"train", "tiny.yaml", "--dry-run", "device=cuda:99"}, 4);
  program.run({"train", "tiny.yaml", "--dry-run", "layr=naive"}, 2);
  program.expect_error(2, {"train", "tiny.yaml", "--dry-run", "devices=2"});
  program.expect_error(2, {"train", "--dry-run", "--resume", "runs/tiny"});
}

TEST(Train, FindsALearningRateAndWritesNothing) {
  const Program program(kTinyYaml);
  const auto result = program.run({"train", "tiny.yaml", "--find-learning-rate"}, 0);
  EXPECT_FALSE(std::filesystem::exists(program.folder() / "runs"));
  EXPECT_THAT(result.errors, HasSubstr("layer     fused"));
  EXPECT_THAT(result.output, HasSubstr("\nsuggestion 0."));
  const auto json = program.run({"train", "tiny.yaml", "--find-learning-rate", "--quiet", "--json"});
  const auto search = nlohmann::json::parse(json.output);
  EXPECT_GT(search.at("suggestion").get<double>(), 1e-4);
  EXPECT_GT(search.at("steps").size(), 50u);
}

TEST(Train, FindsALearningRateWithTheExitCodesOfTraining) {
  const Program program(kTinyYaml);
  program.run({"train", "tiny.yaml", "--find-learning-rate", "layr=naive"}, 2);
  program.run({"train", "tiny.yaml", "--find-learning-rate", "device=cuda:99"}, 4);
  program.expect_error(2, {"train", "tiny.yaml", "--find-learning-rate", "devices=2"});
  program.expect_error(2, {"train", "tiny.yaml", "--find-learning-rate", "--dry-run"});
}

TEST(Train, WritesATraceOnRequest) {
  const Program program(kTinyYaml);
  const auto result = program.run({"train", "tiny.yaml", "--trace", "--trace-steps", "2"}, 0);
  const std::string trace = program.run_folders("tiny").at(0) + "/trace.json";
  EXPECT_TRUE(std::filesystem::exists(trace));
  EXPECT_THAT(result.errors, HasSubstr("trace     steps 5 to 6 "));
  EXPECT_EQ(program.run({"train", "tiny.yaml", "--trace-steps", "2"}).exit_code, 2) << "without --trace";
  EXPECT_EQ(program.run({"train", "tiny.yaml", "--trace", "--trace-steps", "0"}).exit_code, 2);
}

TEST(Train, ASweepPrintsTheComparisonAndReportsAFailedCase) {
  const Program program;
  program.write("sweep.yaml", std::string(kTinyYaml) + "sweep: {device: [cuda:99, cpu], layer: [naive, fused]}\n");
  const auto result = program.run({"train", "sweep.yaml"}, 4);
  EXPECT_THAT(result.errors, HasSubstr("device: got cuda:99, but "));
  EXPECT_THAT(result.output, HasSubstr("cpu naive"));
  EXPECT_THAT(result.output, HasSubstr("cpu fused"));
  EXPECT_EQ(program.run_folders("tiny").size(), 2u);
}

TEST(Train, SaysThatALaterArgumentReplacesAnEarlierOne) {
  const Program program(kTinyYaml);
  const auto result = program.run({"train", "tiny.yaml", "seed=1", "seed=2", "training.epochs=1"});
  EXPECT_THAT(result.errors, HasSubstr("'seed=2' replaces 'seed=1'\n"));
  EXPECT_THAT(result.errors, HasSubstr(", seed 2\n"));
}

int count_of(const std::string& part, const std::string& text) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// They are one of several reasons to doubt the times. A few more than the CPUs are enough: hundreds would wait for each
// other for minutes.
const std::string kTooManyThreads = fmt::format("training.num_threads={}", std::thread::hardware_concurrency() + 1);

TEST(Train, HasOneLineOfDoubtAboutTheTimesOfARun) {
  const Program program(kTinyYaml);
  const auto result = program.run({"train", "tiny.yaml", kTooManyThreads}, 0);
  EXPECT_EQ(count_of("MORE THREADS THAN CPUS", result.errors), 1);
  EXPECT_EQ(count_of("do not rely on ", result.errors), 1);
  EXPECT_THAT(read_text(program.run_folders("tiny").at(0) + "/train.log"), HasSubstr("MORE THREADS THAN CPUS"));
  const auto quiet = program.run({"train", "tiny.yaml", kTooManyThreads, "--quiet"});
  EXPECT_THAT(quiet.errors, Not(HasSubstr("THREADS")));
  EXPECT_THAT(program.run({"compare", "tiny", "--verbose"}).output, HasSubstr("MORE THREADS THAN CPUS"));
}

TEST(Train, HasTheDoubtsAboutASweepOrRepeatsOnce) {
  for (const std::string more :
       {"sweep={layer: [naive, fused]}", "repeats=2", "sweep={training.learning_rate: [1e-3, 2e-3]}"}) {
    const Program program(kTinyYaml);
    const auto result = program.run({"train", "tiny.yaml", kTooManyThreads, more}, 0);
    EXPECT_EQ(count_of("MORE THREADS THAN CPUS", result.errors + result.output), 1) << more << result.errors;
  }
}

TEST(Train, SaysThatALongerTrainingWouldHelp) {
  const Program program(kTinyYaml);
  const std::string advice = "the best epoch is the last, 3";
  EXPECT_THAT(program.run({"train", "tiny.yaml", "training.learning_rate=3e-3"}).errors, HasSubstr(advice));
  EXPECT_THAT(program.run({"evaluate", "tiny"}).output, HasSubstr("advice    " + advice));
  EXPECT_THAT(program.run({"report", "tiny", "--markdown"}).output, HasSubstr(advice));
  EXPECT_THAT(program.run({"train", "tiny.yaml", "training.epochs=1"}).errors, Not(HasSubstr("best epoch is ")));
}

TEST(Train, SaysThatTrainingDivergesWithoutNaN) {
  const Program program(kTinyYaml);
  const auto result = program.run({"train", "tiny.yaml", "training.optimizer=sgd", "training.learning_rate=300"}, 0);
  EXPECT_THAT(result.errors, HasSubstr("training.clip_norm"));
}

TEST(Train, NothingRunsWhileAnyFileIsWrong) {
  const Program program(kTinyYaml);
  program.write("bad.yaml", "layr: naive\n");
  const auto result = program.run({"train", "tiny.yaml", "bad.yaml"}, 2);
  EXPECT_THAT(result.errors, HasSubstr("bad.yaml:1:1: unknown key 'layr'"));
  EXPECT_TRUE(program.run_folders("tiny").empty());
}

TEST(Train, DivergenceEndsWithItsExitCodeAndSaysWhereItBegan) {
  const Program program(kTinyYaml);
  const auto result = program.run({"train", "tiny.yaml", "training.optimizer=sgd", "training.learning_rate=1e38"}, 5);
  const std::string where = "epoch 1, step ";
  EXPECT_THAT(result.errors, HasSubstr(where));
  EXPECT_EQ(result.errors.find(where), result.errors.rfind(where)) << "said once";
  EXPECT_THAT(read_text(program.run_folders("tiny").at(0) + "/train.log"), HasSubstr(where));
}

TEST(Train, MissingDataIsExitCode3) {
  const Program program;
  program.run({"train", "nowhere.yaml"}, 2);
  program.write("csv.yaml", "data: {source: csv, path: nowhere.csv, target: [y]}\n");
  EXPECT_EQ(program.run({"train", "csv.yaml"}).exit_code, 3);
}

class TrainSignals : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(TrainSignals, EndTheRunAfterItsStepWithTheResultsWritten) {
  const auto [signal, exit_code] = GetParam();
  const Program program;
  program.write("long.yaml", kTinyYaml);
  const auto has_an_epoch = [&] {
    const auto folders = program.run_folders("tiny");
    return !folders.empty() && read_text(folders[0] + "/epochs.csv").find("\n1,") != std::string::npos;
  };
  const auto result = program.run_and_signal({"train", "long.yaml", "training.epochs=1000000"}, signal, has_an_epoch);
  EXPECT_EQ(result.exit_code, exit_code) << result.errors;
  const auto folders = program.run_folders("tiny");
  ASSERT_EQ(folders.size(), 1u);
  EXPECT_THAT(read_text(folders[0] + "/summary.json"), HasSubstr(std::string("(SIG") + ::sigabbrev_np(signal)));
  EXPECT_THAT(program.run({"compare", folders[0]}).output, HasSubstr(" WAS INTERRUPTED: "));
}

INSTANTIATE_TEST_SUITE_P(All, TrainSignals,
                         ::testing::Values(std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}, std::pair{SIGHUP, 129},
                                           std::pair{SIGXCPU, 152}, std::pair{SIGUSR1, 138}));

TEST(Train, IsStrictOnRequest) {
  const Program program(kTinyYaml);
  const testing::Words arguments = {"train", "tiny.yaml", "strict=true", "training.cuda_graph=true"};
  for (const testing::Words& more : {testing::Words{}, testing::Words{"--dry-run"}})
    program.expect_error(4, testing::with(arguments, more));
  EXPECT_TRUE(program.run_folders("tiny").empty());
}

}  // namespace
}  // namespace rnnlab
