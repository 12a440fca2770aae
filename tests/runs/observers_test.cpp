// SPDX-License-Identifier: Apache-2.0
#include "runs/observers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/expect_error.h"
#include "base/system/small_disk.h"
#include "base/system/temporary_folder.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/comparison.h"
#include "results/run_folder.h"
#include "results/run_record.h"
#include "runs/run.h"
#include "runs/tiny_experiment.h"
#include "train/loop/profiling.h"

namespace rnnlab {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::TemporaryFolder;
using testing::tiny_experiment;

// The steps that a run of three epochs of four steps has saved, with what `checkpoint:` says.
class SavedSteps : public ::testing::Test {
 protected:
  std::vector<int64_t> steps(const std::vector<std::string>& overrides) {
    std::vector<std::string> all = {"deterministic=true", "training.num_threads=1", "checkpoint.keep=100"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    Logger logger(Verbosity::kQuiet, Terminal{});
    const auto run =
        run_experiment(tiny_experiment(all), {.out = out_.path(), .command_line = {}, .console = {}}, logger);
    folder_ = run.folder / kCheckpointsFolder;
    std::vector<int64_t> steps;
    for (const CheckpointPlace& place : list_checkpoints(folder_)) steps.push_back(place.step);
    return steps;
  }

  std::optional<CheckpointPlace> best() const { return best_checkpoint(folder_); }

 private:
  TemporaryFolder out_;
  std::filesystem::path folder_;
};

TEST_F(SavedSteps, AreTheEndsOfEpochs) {
  EXPECT_THAT(steps({"checkpoint.every_seconds=0"}), ElementsAre(4, 8, 12));
  EXPECT_THAT(steps({"checkpoint.every_seconds=0", "checkpoint.every_epochs=2", "checkpoint.best=false"}),
              ElementsAre(8, 12));
}

TEST_F(SavedSteps, AreOnlyTheLastAndTheBestWithinTheLeastTime) {
  EXPECT_THAT(steps({"checkpoint.every_seconds=1000"}), ElementsAre(12)) << "the best one that was held back is it";
  EXPECT_EQ(best().value().step, 12);
  // If the loss does not change, the first epoch stays the best.
  EXPECT_THAT(steps({"checkpoint.every_seconds=1000", "training.learning_rate=1e-30"}), ElementsAre(4, 12));
  EXPECT_EQ(best().value().step, 4);
  EXPECT_THAT(steps({"checkpoint.every_seconds=1000", "training.learning_rate=1e-30", "checkpoint.best=false"}),
              ElementsAre(12));
  EXPECT_FALSE(best());
}

TEST_F(SavedSteps, AreThoseOfEverySteps) {
  EXPECT_THAT(steps({"checkpoint.every_seconds=1000", "checkpoint.every_steps=3", "checkpoint.best=false"}),
              ElementsAre(3, 6, 9, 12));
  EXPECT_THAT(steps({"checkpoint.every_seconds=1000", "checkpoint.every_steps=4"}), ElementsAre(4, 8, 12));
}

TEST_F(SavedSteps, AreTheNewestThatAreKeptAndTheBest) {
  const std::vector<std::string> often = {"checkpoint.every_seconds=0", "checkpoint.every_steps=1"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), often.begin(), often.end());
    return more;
  };
  EXPECT_THAT(steps(with({"checkpoint.keep=3"})), ElementsAre(10, 11, 12));
  EXPECT_THAT(steps(with({"checkpoint.keep=1"})), ElementsAre(11, 12)) << "one older stays";
  EXPECT_THAT(steps(with({"checkpoint.keep=2", "training.learning_rate=1e-30"})), ElementsAre(4, 11, 12));
  EXPECT_EQ(best().value().step, 4);
}

TEST_F(SavedSteps, AreOnlyTheLastIfEveryEpochsIsZero) {
  EXPECT_THAT(steps({"checkpoint.every_epochs=0", "checkpoint.best=false"}), ElementsAre(12));
}

TEST_F(SavedSteps, AreMissingIfSaveIsFalse) { EXPECT_THAT(steps({"checkpoint.save=false"}), IsEmpty()); }

constexpr const char* kTraced = "traced (--trace): the times include the tracing";

// The tiny experiment has four steps an epoch, and one epoch of warm-up.
class Traced : public ::testing::Test {
 protected:
  RunOutcome run(const std::vector<std::string>& overrides, std::optional<int64_t> trace_steps) {
    Logger logger(Verbosity::kQuiet, Terminal{});
    RunOutcome outcome =
        run_experiment(tiny_experiment(overrides),
                       {.out = out_.path(), .command_line = {}, .console = {}, .trace_steps = trace_steps}, logger);
    logger.close_file();
    return outcome;
  }

  static json trace_of(const RunOutcome& outcome) {
    return json::parse(testing::read_text(outcome.folder / kTraceFile));
  }

  // Whole events of a category, in the order of the file.
  static std::vector<json> events(const json& trace, const std::string& category) {
    std::vector<json> found;
    for (const json& event : trace.at("traceEvents"))
      if (event.at("ph") == "X" && event.value("cat", "") == category) found.push_back(event);
    return found;
  }

  static int64_t count(const json& trace, const std::string& name) {
    return std::ranges::count_if(events(trace, "user_annotation"),
                                 [&](const json& event) { return event["name"] == name; });
  }

  static std::string log_of(const RunOutcome& outcome) { return testing::read_text(outcome.folder / kLogFile); }

  TemporaryFolder out_;
};

// The names of the ranges that `inner` is within, outermost first.
std::vector<std::string> around(const json& inner, const std::vector<json>& ranges) {
  std::vector<std::string> names;
  const auto end = [](const json& range) { return range["ts"].get<double>() + range["dur"].get<double>(); };
  for (const json& range : ranges)
    if (range["ts"] < inner["ts"] && end(range) > end(inner)) names.push_back(range["name"]);
  return names;
}

TEST_F(Traced, HasTheRangesOfTrainingNestedWithTheOperatorsWithin) {
  const RunOutcome outcome = run({}, 50);
  const json trace = trace_of(outcome);
  const auto ranges = events(trace, "user_annotation");
  const auto in = [&](const char* name) {
    const auto found = std::ranges::find_if(ranges, [&](const json& range) { return range["name"] == name; });
    return found == ranges.end() ? std::vector<std::string>{"missing"} : around(*found, ranges);
  };
  EXPECT_THAT(in("epoch"), IsEmpty());
  for (const char* name : {"batch", "step", "record", "observers", "read back", "validate"})
    EXPECT_THAT(in(name), ElementsAre("epoch")) << name;
  for (const char* name : {"forward", "loss", "backward", "clip", "update"})
    EXPECT_THAT(in(name), ElementsAre("epoch", "step")) << name;
  const auto operators = events(trace, "cpu_op");
  const auto product =
      std::ranges::find_if(operators, [](const json& event) { return event["name"] == "aten::addmm"; });
  ASSERT_NE(product, operators.end());
  EXPECT_THAT(around(*product, ranges), ElementsAre("epoch", "step", "forward"));
}

TEST_F(Traced, HasTimesThreadsAndTheNameOfTheRun) {
  const RunOutcome outcome = run({}, 50);
  const json trace = trace_of(outcome);
  EXPECT_EQ(trace.at("traceName"), (outcome.folder / kTraceFile).string());
  bool names_a_thread = false;
  for (const json& event : trace.at("traceEvents")) {
    names_a_thread = names_a_thread || event.at("name") == "thread_name";
    if (event.at("ph") != "X") continue;
    EXPECT_GE(event.at("ts").get<double>(), 0) << event;
    EXPECT_GE(event.at("dur").get<double>(), 0) << event;
    EXPECT_TRUE(event.contains("pid") && event.contains("tid")) << event;
  }
  EXPECT_TRUE(names_a_thread);
}

TEST_F(Traced, BeginsAfterWarmUpAndEndsAfterItsSteps) {
  const RunOutcome outcome = run({"training.epochs=4"}, 2);
  EXPECT_EQ(count(trace_of(outcome), "step"), 2);
  EXPECT_THAT(log_of(outcome), HasSubstr("trace     steps 5 to 6 in " + (outcome.folder / kTraceFile).string()));
  EXPECT_THAT(log_of(outcome), HasSubstr("profile   the time of operations, without those that they call"));
}

TEST_F(Traced, HasTheEndOfTheEpochThatEndsWithItsLastStep) {
  const json trace = trace_of(run({"training.epochs=4"}, 4));
  EXPECT_EQ(count(trace, "step"), 4);
  EXPECT_EQ(count(trace, "validate"), 1);
  EXPECT_EQ(count(trace, "epoch"), 1);
}

TEST_F(Traced, HasAllStepsOfARunThatIsShorter) {
  const RunOutcome outcome = run({}, 50);
  EXPECT_EQ(count(trace_of(outcome), "step"), 8);
  EXPECT_THAT(log_of(outcome), HasSubstr("trace     steps 5 to 12 in "));
}

TEST_F(Traced, IsMissingWithoutTheOption) {
  const RunOutcome outcome = run({}, std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(outcome.folder / kTraceFile));
  EXPECT_THAT(texts_of(outcome.summary.warnings), Not(Contains(kTraced)));
}

TEST_F(Traced, IsMissingAfterWarmUpOnlyAndTheLogHasTheReason) {
  const RunOutcome outcome = run({"training.epochs=1"}, 50);
  EXPECT_FALSE(std::filesystem::exists(outcome.folder / kTraceFile));
  EXPECT_THAT(log_of(outcome), HasSubstr("nothing was traced: the run ended within its warm-up, before epoch 2; use "
                                         "training.warmup_epochs=0 to trace from the first step\n"));
}

TEST_F(Traced, IsAWarningInSummaryAndComparison) {
  const RunOutcome traced = run({"layer=naive"}, 50);
  const RunOutcome plain = run({"layer=fused"}, std::nullopt);
  EXPECT_THAT(texts_of(read_summary(traced.folder).warnings), Contains(kTraced));
  const auto warnings = texts_of(compare({load_run(traced.folder), load_run(plain.folder)}, {}).warnings);
  EXPECT_THAT(warnings, Contains(std::string("cpu naive: ") + kTraced));
  EXPECT_THAT(warnings, Not(Contains(std::string("cpu fused: ") + kTraced)));
}

TEST_F(Traced, IsWrittenForARunThatDiverges) {
  const std::vector<std::string> wild = {"training.optimizer=sgd", "training.learning_rate=1e38",
                                         "training.warmup_epochs=0"};
  EXPECT_THROW(run(wild, 50), UserError);
  const auto folder = run_folders_in(out_.path() / "tiny").at(0);
  EXPECT_GE(count(json::parse(testing::read_text(folder / kTraceFile)), "step"), 1);
}

TEST_F(Traced, HasCaptureReplayAndKernelsOfAGraphRun) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const json trace = trace_of(run({"device=cuda", "training.cuda_graph=true", "training.warmup_epochs=0"}, 50));
  EXPECT_GE(count(trace, "graph capture"), 1);
  EXPECT_GE(count(trace, "graph replay"), 1);
  EXPECT_GE(count(trace, "wait for the device"), 1);
  EXPECT_THAT(events(trace, "kernel"), Not(IsEmpty()));
}

TEST(TracedSteps, BeginAfterTheWarmUpAndEndOnce) {
  TracedSteps steps(/*num_steps=*/5, /*warmup_epochs=*/1);
  TrainingState state;
  state.epoch = 1;
  EXPECT_FALSE(steps.begin_with(state));
  EXPECT_FALSE(steps.end_at(100)) << "no step is traced yet";
  state.epoch = 2;
  state.step = 8;
  EXPECT_TRUE(steps.begin_with(state));
  EXPECT_FALSE(steps.end_at(12));
  EXPECT_TRUE(steps.end_at(13));
  steps.set_over();
  EXPECT_FALSE(steps.end_at(14));
  EXPECT_FALSE(steps.begin_with(state)) << "a run has one trace";
}

TEST(TraceObserver, ThrowsIfTheDiskIsFull) {
  const testing::SmallDisk disk;
  const auto file = disk.path() / "trace.json";
  Logger logger(Verbosity::kQuiet, Terminal{});
  TraceObserver observer({.file = file, .num_steps = 1}, logger);
  TrainingState state;
  state.epoch = 1;
  observer.on_epoch_begin(state);
  for (int i = 0; i < 500; ++i) const TraceRange range("range");
  testing::expect_error(ExitCode::kDevice, [&] { observer.on_run_end(state); });
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".tmp")) << "nothing takes room on the full disk";
}

}  // namespace
}  // namespace rnnlab
