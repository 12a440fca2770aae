// SPDX-License-Identifier: Apache-2.0
#include "runs/observers.h"

#include <gmock/gmock.h>

#include "results/tensorboard/event_reader.h"
#include "runs/resumed_run.h"

namespace rnnlab {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::event_files_in;
using ::testing::IsEmpty;
using testing::Message;
using ::testing::Pair;
using ::testing::SizeIs;

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
    auto overrides = testing::exactly({"training.tensorboard=true"});
    overrides.insert(overrides.end(), more.begin(), more.end());
    return overrides;
  }
};

TEST_F(TensorBoardRun, HasItsScalarsSettingsAndGraph) {
  const auto files = event_files_in(run(with_board()));
  ASSERT_THAT(files, SizeIs(1));
  const auto points = points_in(files[0]);
  EXPECT_THAT(points, Contains("0 _hparams_/session_start_info"));
  for (const char* point : {"1 train/loss", "3 train/loss", "3 valid/accuracy", "2 training/learning_rate"})
    EXPECT_THAT(points, Contains(point));
  EXPECT_THAT(points, ::testing::Each(::testing::Not(::testing::HasSubstr("weights/"))));
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
  EXPECT_THAT(points, ::testing::Not(Contains("1 train/loss")));
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
