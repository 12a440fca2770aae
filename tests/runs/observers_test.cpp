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
#include "results/tensorboard/event_reader.h"
#include "runs/resumed_run.h"
#include "runs/run.h"
#include "runs/tiny_experiment.h"
#include "train/loop/profiling.h"

namespace rnnlab {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::event_files_in;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Message;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::TemporaryFolder;
using testing::tiny_experiment;
using testing::with;

// The steps that a run of three epochs of four steps has saved, with what `checkpoint:` says.
class SavedSteps : public ::testing::Test {
 protected:
  std::vector<int64_t> steps(const std::vector<std::string>& overrides) {
    const auto all = with({"deterministic=true", "training.num_threads=1", "checkpoint.keep=100"}, overrides);
    folder_ = testing::run_quietly(tiny_experiment(all), out_.path()).folder / kCheckpointsFolder;
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
  EXPECT_THAT(steps(with(often, {"checkpoint.keep=3"})), ElementsAre(10, 11, 12));
  EXPECT_THAT(steps(with(often, {"checkpoint.keep=1"})), ElementsAre(11, 12)) << "one older stays";
  EXPECT_THAT(steps(with(often, {"checkpoint.keep=2", "training.learning_rate=1e-30"})), ElementsAre(4, 11, 12));
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
        run_experiment(tiny_experiment(overrides), {.out = out_.path(), .trace_steps = trace_steps}, logger);
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
  EXPECT_THAT(log_of(outcome), HasSubstr("profile   the time of "));
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
  EXPECT_THAT(log_of(outcome), HasSubstr("training.warmup_epochs=0"));
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

// ---- TensorBoard ----

// Field numbers of Event, Summary and its Value.
constexpr int kStep = 2, kGraph = 4, kSummary = 5, kSessionLog = 7, kValue = 1, kTag = 1, kSimpleValue = 2,
              kMetadata = 9;

std::map<std::string, double> scalars_in(const std::string& summary) {
  std::map<std::string, double> scalars;
  const Message message(summary);
  for (const std::string& bytes : message.all_bytes.at(kValue))
    scalars[Message(bytes).bytes(kTag)] = Message(bytes).number(kSimpleValue);
  return scalars;
}

TEST(Scalars, AreWhatAnEpochsRowHas) {
  EpochRow row;
  row.epoch = 3;
  row.train_loss = 0.25;
  row.metrics["valid_accuracy"] = 0.5;
  row.learning_rate = 0.125;
  row.train_seconds = 2;
  row.warmup = true;
  EXPECT_THAT(scalars_in(scalars_of(row)),
              ElementsAre(Pair("measured/data_seconds", 0), Pair("measured/samples_per_second", 0),
                          Pair("measured/train_seconds", 2), Pair("train/loss", 0.25),
                          Pair("training/learning_rate", 0.125), Pair("valid/accuracy", 0.5)));
}

TEST(Scalars, HaveATagForEveryColumnThatIsACurve) {
  std::vector<std::string> without;
  std::map<std::string, int> tags;
  for (const EpochColumn& column : epoch_columns()) {
    const std::string tag = scalar_tag(column);
    if (tag.empty())
      without.emplace_back(column.name);
    else
      ++tags[tag];
  }
  EXPECT_THAT(without, ElementsAre("epoch", "warmup"));
  EXPECT_EQ(tags.size() + without.size(), epoch_columns().size());
  EXPECT_TRUE(tags.contains("valid/bits_per_character"));
}

std::vector<Message> events_in(const std::filesystem::path& file) {
  std::vector<Message> events;
  for (const std::string& record : testing::records_of(testing::read_text(file))) events.emplace_back(record);
  return events;
}

int64_t step_of(const Message& event) { return event.has(kStep) ? static_cast<int64_t>(event.number(kStep)) : 0; }

// "3 train/loss" and the like.
std::vector<std::string> points_in(const std::filesystem::path& file) {
  std::vector<std::string> points;
  for (const Message& event : events_in(file)) {
    if (!event.has(kSummary)) continue;
    const Message summary = event.message(kSummary);
    for (const std::string& value : summary.all_bytes.at(kValue))
      points.push_back(fmt::format("{} {}", step_of(event), Message(value).bytes(kTag)));
  }
  return points;
}

// Returns the session's end in the file: 1 done, 2 failed, 0 if there is no end.
double end_in(const std::filesystem::path& file) {
  for (const Message& event : events_in(file)) {
    if (!event.has(kSummary)) continue;
    const Message value = event.message(kSummary).message(kValue);
    if (value.bytes(kTag) != "_hparams_/session_end_info") continue;
    return Message(value.message(kMetadata).message(1).bytes(2)).message(4).number(1);
  }
  return 0;
}

class TensorBoardRun : public testing::ResumedRun {
 protected:
  static std::vector<std::string> with_board(const std::vector<std::string>& more = {}) {
    return testing::with(testing::exactly({"training.tensorboard=true"}), more);
  }
};

TEST_F(TensorBoardRun, HasItsScalarsSettingsAndGraph) {
  const auto files = event_files_in(run(with_board()));
  ASSERT_THAT(files, SizeIs(1));
  const auto points = points_in(files[0]);
  EXPECT_THAT(points, Contains("0 _hparams_/session_start_info"));
  for (const char* point : {"1 train/loss", "3 train/loss", "3 valid/accuracy", "2 training/learning_rate"})
    EXPECT_THAT(points, Contains(point));
  EXPECT_THAT(points, ::testing::Each(Not(HasSubstr("weights/"))));
  EXPECT_EQ(std::ranges::count_if(events_in(files[0]), [](const Message& event) { return event.has(kGraph); }), 1);
  EXPECT_EQ(end_in(files[0]), 1);
}

TEST_F(TensorBoardRun, HasHistogramsOnRequest) {
  const auto folder = run(with_board({"training.tensorboard_histograms=true", "training.epochs=1"}));
  const auto points = points_in(event_files_in(folder)[0]);
  EXPECT_THAT(points, Contains("1 weights/recurrent/weight_ih_l0"));
  EXPECT_THAT(points, Contains("1 gradients/output/bias"));
}

TEST_F(TensorBoardRun, WritesNothingByDefault) {
  EXPECT_THAT(event_files_in(run(testing::exactly({"training.epochs=1"}))), IsEmpty());
}

TEST_F(TensorBoardRun, ThatIsResumedStartsAtItsEpoch) {
  const auto folder = run(with_board(), /*stop_at=*/6);
  ASSERT_THAT(event_files_in(folder), SizeIs(1));
  EXPECT_EQ(end_in(event_files_in(folder)[0]), 0) << "a run that a signal stopped has not ended";
  EXPECT_THAT(points_in(event_files_in(folder)[0]), Contains("2 train/loss")) << "the row of what there is";
  resume(folder);
  const auto files = event_files_in(folder);
  ASSERT_THAT(files, SizeIs(2));
  std::vector<int64_t> starts;
  for (const Message& event : events_in(files[1]))
    if (event.has(kSessionLog)) starts.push_back(step_of(event));
  EXPECT_THAT(starts, ElementsAre(2)) << "readers forget the part of epoch 2";
  const auto points = points_in(files[1]);
  EXPECT_THAT(points, Contains("2 train/loss"));
  EXPECT_THAT(points, Not(Contains("1 train/loss")));
  EXPECT_EQ(end_in(files[1]), 1);
}

TEST_F(TensorBoardRun, ThatDivergedHasFailed) {
  const auto all = train(testing::kTinyYaml, with_board({"training.learning_rate=1e38", "training.optimizer=sgd"}));
  EXPECT_EQ(all.exit_code, ExitCode::kDiverged);
  std::filesystem::path folder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(out()))
    if (entry.path().filename() == kSummaryFile) folder = entry.path().parent_path();
  ASSERT_FALSE(folder.empty());
  EXPECT_EQ(end_in(event_files_in(folder).at(0)), 2);
}

}  // namespace
}  // namespace rnnlab
