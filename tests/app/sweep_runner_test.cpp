// SPDX-License-Identifier: Apache-2.0
// Tests a measurement in rounds, with a separate process for each run.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/program.h"
#include "base/error.h"
#include "base/system/locks.h"
#include "golden.h"
#include "results/measuring_order.h"
#include "results/run_record.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kTinyYaml;
using testing::Program;

constexpr const char* kTwoLayers = "sweep: {layer: [naive, fused]}\n";

std::vector<RunRecord> runs_of(const Program& program) {
  std::vector<RunRecord> runs;
  for (const std::string& folder : program.run_folders("tiny")) runs.push_back(load_run(folder));
  return runs;
}

std::vector<fs::path> sweep_files(const Program& program) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(program.folder() / "runs"))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  return files;
}

// round, position -> layer
std::map<std::pair<int64_t, int64_t>, std::string> turns_of(const std::vector<RunRecord>& runs) {
  std::map<std::pair<int64_t, int64_t>, std::string> turns;
  for (const RunRecord& run : runs) turns[{run.summary.turn.round, run.summary.turn.position}] = run.summary.layer;
  return turns;
}

void expect_orders_follow_from_the_name(const std::vector<RunRecord>& runs, int64_t num_rounds) {
  const uint64_t seed = std::stoull(runs.at(0).summary.turn.measurement, nullptr, 16);
  const std::vector<std::string> layers = {"naive", "fused"};
  auto turns = turns_of(runs);
  EXPECT_EQ(turns.size(), 2 * static_cast<size_t>(num_rounds));
  for (int64_t round = 1; round <= num_rounds; ++round) {
    const std::vector<size_t> order = order_of_round(seed, round, layers.size());
    for (size_t i = 0; i < order.size(); ++i)
      EXPECT_EQ((turns[{round, static_cast<int64_t>(i) + 1}]), layers[order[i]]) << "round " << round;
  }
}

TEST(Rounds, RunEachCaseInAProcessOfItsOwnInEachRound) {
  const Program program(std::string(kTinyYaml) + kTwoLayers + "repeats: 3\n");
  const auto result = program.run({"train", "tiny.yaml"}, 0);
  EXPECT_THAT(result.errors, HasSubstr("6 runs in 3 rounds "));
  EXPECT_THAT(result.errors, HasSubstr("=== round 3 of 3, "));
  EXPECT_THAT(result.errors, HasSubstr("the first round took "));
  EXPECT_THAT(result.output, HasSubstr("cpu naive"));
  const std::vector<RunRecord> runs = runs_of(program);
  ASSERT_EQ(runs.size(), 6u);
  std::set<std::string> processes, measurements;
  for (const RunRecord& run : runs) {
    processes.insert(run.summary.turn.process);
    measurements.insert(run.summary.turn.measurement);
    EXPECT_EQ(run.environment.command_line.at(2), "tiny.yaml") << "what the user wrote";
  }
  EXPECT_EQ(processes.size(), 6u);
  EXPECT_EQ(measurements.size(), 1u);
  expect_orders_follow_from_the_name(runs, 3);
  EXPECT_THAT(sweep_files(program), IsEmpty()) << "all have had their turn";
}

TEST(Rounds, MeasureAgainstTheFirstCaseInAnyOrder) {
  const Program program(std::string(kTinyYaml) + kTwoLayers);
  const auto result = program.run({"train", "tiny.yaml", "--repeats", "2", "--json"}, 0);
  EXPECT_THAT(result.output, HasSubstr("\"baseline\": \"cpu naive\""));
}

TEST(Rounds, AreForOneExperimentToo) {
  const Program program(kTinyYaml);
  program.run({"train", "tiny.yaml", "repeats=2"}, 0);
  EXPECT_EQ(runs_of(program).size(), 2u);
}

TEST(Rounds, TakeOneLayerForAllWhereItIsAuto) {
  const Program program(kTinyYaml);
  ASSERT_EQ(program.run({"train", "tiny.yaml", "layer=auto", "--repeats", "3"}).exit_code, 0);
  std::set<std::string> layers;
  for (const RunRecord& run : runs_of(program)) layers.insert(run.summary.layer);
  EXPECT_EQ(layers.size(), 1u);
}

TEST(Rounds, AreNotConfusedByWhatALibraryPrints) {
  const Program program(kTinyYaml);
  const auto result = program.run_in_shell("MKL_VERBOSE=1 \"$0\" train tiny.yaml layer=naive --repeats 2", 0);
  EXPECT_THAT(result.output, HasSubstr("MKL_VERBOSE"));
  EXPECT_EQ(runs_of(program).size(), 2u);
}

TEST(Rounds, LeaveOutACaseThatFails) {
  const Program program(std::string(kTinyYaml) + "sweep: {training.learning_rate: [1e38, 1e-3]}\n");
  const auto result = program.run({"train", "tiny.yaml", "training.optimizer=sgd", "--repeats", "3"}, 5);
  EXPECT_THAT(result.errors, HasSubstr("learning_rate=1e38 failed "));
  EXPECT_EQ(runs_of(program).size(), 4u) << "one that diverged, and three";
}

TEST(Rounds, ResumeAfterASignal) {
  const Program program(std::string(kTinyYaml) + kTwoLayers);
  const auto two_have_begun = [&] {
    return fs::exists(program.folder() / "runs" / "tiny") && program.run_folders("tiny").size() >= 2;
  };
  const auto stopped = program.run_and_signal({"train", "tiny.yaml", "--repeats", "3"}, SIGTERM, two_have_begun);
  EXPECT_EQ(stopped.exit_code, 143) << stopped.errors;
  const std::vector<fs::path> files = sweep_files(program);
  ASSERT_EQ(files.size(), 1u) << stopped.errors;
  EXPECT_THAT(stopped.errors, HasSubstr(" --resume runs/" + files[0].filename().string()));
  program.run({"train", "--resume", files[0].string()}, 0);
  const std::vector<RunRecord> runs = runs_of(program);
  EXPECT_EQ(runs.size(), 6u);
  for (const RunRecord& run : runs) EXPECT_EQ(run.summary.ending, RunEnding::kComplete);
  expect_orders_follow_from_the_name(runs, 3);
  EXPECT_THAT(sweep_files(program), IsEmpty());
}

TEST(Rounds, EndAtAPrecisionThatThreeInARowHave) {
  const Program program(std::string(kTinyYaml) + "repeats: {until: 99 %, at_most: 9}\n");
  const auto result = program.run({"train", "tiny.yaml", "data.num_train=2000"}, 0);
  const size_t num_rounds = runs_of(program).size();
  EXPECT_GE(num_rounds, 7u);
  if (num_rounds == 9) return;  // on a busy machine no case may be precise
  EXPECT_THAT(result.errors, HasSubstr(fmt::format(" after {} rounds", num_rounds)));
}

// A case that failed gets no more rounds, so its interval stays as wide as it is.
TEST(Rounds, EndAtAPrecisionOfTheCasesThatDidNotFail) {
  const Program program(std::string(kTinyYaml) + "repeats: {until: 99 %, at_most: 12}\n");
  const auto result =
      program.run({"train", "tiny.yaml", "data.num_train=2000", "sweep={training.learning_rate: [0.001, 1e38]}"}, 5);
  const size_t num_runs = runs_of(program).size();
  EXPECT_GE(num_runs, 8u);
  if (num_runs == 13) return;  // on a busy machine no case may be precise
  EXPECT_THAT(result.errors, HasSubstr(fmt::format(" after {} rounds", num_runs - 1)));
}

// A process that works in the folder holds its lock.
bool becomes_free(const fs::path& folder) {
  for (int i = 0; i < 500; ++i) {
    try {
      const FolderLock lock(folder, WhenTaken::kRefuse);
      return true;
    } catch (const UserError&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  return false;
}

TEST(Rounds, LeaveNoProcessIfTheCommandIsKilled) {
  const Program program(kTinyYaml);
  const auto has_begun = [&] {
    return fs::exists(program.folder() / "runs" / "tiny") && !program.run_folders("tiny").empty();
  };
  const auto killed =
      program.run_and_signal({"train", "tiny.yaml", "--repeats", "2", "training.epochs=1000000"}, SIGKILL, has_begun);
  EXPECT_NE(killed.exit_code, 0);
  EXPECT_TRUE(becomes_free(program.run_folders("tiny").at(0)));
}

TEST(Rounds, AreRefusedInASweepAndWithResume) {
  const Program program(std::string(kTinyYaml) + "sweep: {repeats: [2, 3]}\n");
  program.expect_error(2, {"train", "tiny.yaml"});
  program.run({"train", "--resume", "runs", "--repeats", "2"}, 2);
  program.run({"train", "tiny.yaml", "--repeats", "0"}, 2);
  program.expect_error(2, {"train", "tiny.yaml", "--repeats", "5", "repeats=3"});
}

// experiments/peers.py also does this, and runs other programs in between.
TEST(Turn, IsThatOfAScript) {
  const Program program(kTinyYaml);
  ASSERT_EQ(program.run({"train", "tiny.yaml", "--turn", "a1b2:3:2:1"}).exit_code, 0);
  const auto turn = read_summary(program.folder() / program.run_folders("tiny").at(0)).turn;
  EXPECT_EQ(turn.measurement, "a1b2");
  EXPECT_EQ(turn.round, 3);
  EXPECT_EQ(turn.position, 2);
  EXPECT_EQ(turn.case_number, 1);
}

TEST(Turn, IsRefusedIfInvalidOrForSeveralRuns) {
  const Program program(kTinyYaml);
  program.expect_error(2, {"train", "tiny.yaml", "--turn", "1:2"});
  program.expect_error(2, {"train", "tiny.yaml", "--turn", "a:1:1:1", "sweep={seed: [1, 2]}"});
}

TEST(Check, PrintsRepeats) {
  const Program program(std::string(kTinyYaml) + "repeats: {until: 1 %, at_most: 12}\n");
  EXPECT_THAT(program.run({"check", "tiny.yaml"}).output, HasSubstr("\nrepeats: {until: 1 %, at_most: 12}\n"));
}

}  // namespace
}  // namespace rnnlab
