// SPDX-License-Identifier: Apache-2.0
// Tests data whose steps have a target each: data.target_per: step.
#include <fmt/format.h>

#include <limits>

#include "data/inspect.h"
#include "data/load_dataset.h"
#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ---- csv ----

class CsvOfSteps : public DataTest {
 protected:
  DataSettings settings(const std::string& more) const {
    return parse_settings(fmt::format("source: csv\npath: {}\ntarget_per: step\nnormalize: none\nsplit: ordered\n{}",
                                      path("a.csv"), more));
  }

  Dataset load(const std::string& more) const { return load_dataset(settings(more)); }

  // Three sentences of 2, 3 and 1 words, whose rows take turns.
  void write_words() const { write("a.csv", "sentence,length,tag\na,1,N\nb,5,V\na,2,V\nb,6,N\nb,7,N\nc,9,V\n"); }
};

constexpr const char* kTags = "group: sentence\ntarget: [tag]\n";

TEST_F(CsvOfSteps, AreSequencesOfTheirGroups) {
  write_words();
  const Dataset data = load(fmt::format("{}num_valid: 1\n", kTags));
  EXPECT_EQ(data.shape.task, Task::kClassification);
  EXPECT_TRUE(data.shape.target_per_step);
  EXPECT_TRUE(data.shape.has_lengths);
  EXPECT_THAT(data.vocabulary, ElementsAre("N", "V"));
  EXPECT_THAT(data.train.inputs.sizes(), ElementsAre(2, 3, 1));
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 2, 0, 5, 6, 7));
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(0, 1, 0, 1, 0, 0));
  EXPECT_THAT(values_of<int64_t>(data.train.lengths), ElementsAre(2, 3));
  EXPECT_THAT(values_of<int64_t>(data.valid.lengths), ElementsAre(1));
  expect_golden(data.description);
  EXPECT_EQ(inspection_json(inspect(settings(kTags)))["training"]["classes"][0].dump(), R"({"class":"N","steps":3})");
}

TEST_F(CsvOfSteps, AreCutByTheWindow) {
  write("a.csv", "x,y\n1,10\n2,20\n3,30\n4,40\n5,50\n");
  const Dataset data = load("window: 2\ntarget: [y]\ntask: regression\nnum_valid: 1\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(data.train.targets.sizes(), ElementsAre(2, 2, 1));
  EXPECT_THAT(values_of<int64_t>(data.train.lengths), ElementsAre(2, 2)) << "because the last sequence is shorter";
  EXPECT_THAT(values_of<int64_t>(data.valid.lengths), ElementsAre(1));
  EXPECT_TRUE(data.naive_forecasts.empty());
}

// The groups are a and b, in the order of their first rows: the pieces are 1 2, 4 5, 6 and 3 7, 8.
TEST_F(CsvOfSteps, OfCutGroupsAreSplitPieceByPiece) {
  write("a.csv", "g,x,y\na,1,0\na,2,0\nb,3,0\na,4,1\na,5,1\na,6,1\nb,7,1\nb,8,1\n");
  const char* cut = "group: g\nwindow: 2\ntarget: [y]\n";
  const Dataset last = load(fmt::format("{}num_valid: 1\n", cut));
  EXPECT_THAT(values_of<float>(last.train.inputs), ElementsAre(1, 2, 4, 5, 6, 0, 3, 7));
  EXPECT_THAT(values_of<float>(last.valid.inputs), ElementsAre(8, 0));
  const Dataset more = load(fmt::format("{}num_valid: 3\n", cut));
  EXPECT_THAT(values_of<float>(more.train.inputs), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(values_of<float>(more.valid.inputs), ElementsAre(6, 0, 3, 7, 8, 0));
}

TEST_F(CsvOfSteps, OfARandomSplitAreInOnePartOnly) {
  write_words();
  const Dataset data = load_dataset(parse_settings(
      fmt::format("source: csv\npath: {}\ntarget_per: step\nnormalize: none\nnum_valid: 1\n{}", path("a.csv"), kTags)));
  std::vector<float> rows = values_of<float>(data.train.inputs);
  for (const float row : values_of<float>(data.valid.inputs)) rows.push_back(row);
  std::erase(rows, 0);  // the padding
  EXPECT_THAT(rows, testing::UnorderedElementsAre(1, 2, 5, 6, 7, 9));
}

TEST_F(CsvOfSteps, HaveNoLengthsIfAllSequencesAreWhole) {
  write("a.csv", "x,y\n1,0\n2,1\n3,0\n4,1\n");
  const Dataset data = load("window: 2\ntarget: [y]\nnum_valid: 1\n");
  EXPECT_FALSE(data.train.lengths.defined());
  EXPECT_FALSE(data.shape.has_lengths);
}

TEST_F(CsvOfSteps, AreScaledByTheRowsOfTheTrainingPart) {
  write_words();
  const Dataset data = load_dataset(parse_settings(
      fmt::format("source: csv\npath: {}\ntarget_per: step\nsplit: ordered\nnum_valid: 1\nnormalize: minmax\n{}",
                  path("a.csv"), kTags)));
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(8 / 6.0F, 0, 0)) << "1 and 7 of training are 0 and 1";
}

TEST_F(CsvOfSteps, ArePredictedRowByRow) {
  write_words();
  const Dataset data = load(fmt::format("{}num_valid: 1\n", kTags));
  const InferenceData all = load_for_inference(settings(fmt::format("{}num_valid: 1\nid: [sentence]\n", kTags)), data,
                                               DataPart::kAll, Targets::kIfPresent);
  std::vector<int64_t> samples;
  for (const FileRow& row : all.rows.rows) samples.push_back(row.sample.value());
  EXPECT_THAT(samples, ElementsAre(0, 2, 1, 3, 4, 5)) << "in the order of the file";
  EXPECT_THAT(all.rows.rows[1].id, ElementsAre("b"));
}

TEST_F(CsvOfSteps, ContradictWhatForecastsNeed) {
  const auto usage = [&](const std::string& more) {
    return error_of(ExitCode::kUsage, [&] { settings("target: [tag]\n" + more); });
  };
  expect_golden(usage(""));
  const auto only_complaint = [](const std::string& message) {
    return testing::AllOf(HasSubstr(message), testing::Not(HasSubstr("\n")));
  };
  const auto remove_horizon = only_complaint("the target of a step is in its own row: remove horizon");
  EXPECT_THAT(usage("window: 2\nhorizon: 3\n"), remove_horizon);
  EXPECT_THAT(usage("group: a\nhorizon: 3\n"), remove_horizon);
  EXPECT_THAT(usage("group: a\nhorizon: [3, 1]\n"), remove_horizon);
  EXPECT_THAT(usage("group: a\nseason: 3\n"), only_complaint("remove season"));
  EXPECT_THAT(usage("window: 2\ninputs_from: part\n"), only_complaint("the sequences do not overlap"));
}

// ---- npy ----

class ArraysOfSteps : public DataTest {
 protected:
  DataSettings settings(const std::string& more) const {
    return parse_settings(
        fmt::format("source: npy\npath: {}\ntrain_inputs: x.npy\ntrain_targets: y.npy\ntarget_per: step\nsplit: "
                    "ordered\nnum_valid: 1\n{}",
                    folder().string(), more));
  }

  std::string load_error(const std::string& more = "") const {
    return error_of(ExitCode::kData, [&] { load_dataset(settings(more)); });
  }
};

TEST_F(ArraysOfSteps, HaveClassesOfEachStep) {
  write_npy<float>("x.npy", "<f4", "2, 3", {1, 2, 3, 4, 5, 6});
  write_npy<int64_t>("y.npy", "<i8", "2, 3", {0, 2, 1, 1, 0, -1});
  write_npy<int64_t>("n.npy", "<i8", "2,", {3, 2});
  const Dataset data = load_dataset(settings("train_lengths: n.npy\n"));
  EXPECT_TRUE(data.shape.target_per_step);
  EXPECT_EQ(data.shape.num_outputs, 3);
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(0, 2, 1));
  EXPECT_THAT(values_of<int64_t>(data.valid.targets), ElementsAre(1, 0, 0)) << "padding may have any class";
  expect_golden(load_error());
}

TEST_F(ArraysOfSteps, HaveNumbersOfEachStep) {
  write_npy<float>("x.npy", "<f4", "2, 2", {1, 2, 3, 4});
  write_npy<float>("y.npy", "<f4", "2, 2, 2", {1, 2, 3, 4, 5, 6, 7, 8});
  const Dataset data = load_dataset(settings(""));
  EXPECT_EQ(data.shape.task, Task::kRegression);
  EXPECT_EQ(data.shape.num_outputs, 2);
  EXPECT_THAT(data.train.targets.sizes(), ElementsAre(1, 2, 2));
}

TEST_F(ArraysOfSteps, MayHaveNanInTheirPaddingOnly) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  write_npy<float>("x.npy", "<f4", "3, 2, 1", {1, 2, 3, kNan, 5, 6});
  write_npy<float>("y.npy", "<f4", "3, 2", {.1F, .2F, .3F, kNan, .5F, .6F});
  write_npy<int64_t>("n.npy", "<i8", "3,", {2, 1, 2});
  for (const char* task : {"regression", "binary"}) {
    const Dataset data = load_dataset(settings(fmt::format("train_lengths: n.npy\ntask: {}\n", task)));
    EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 2, 3, 0)) << task;
    EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(.1F, .2F, .3F, 0)) << task;
  }
  const auto diverged = [&](const std::string& more) {
    return error_of(ExitCode::kDiverged, [&] { load_dataset(settings(more)); });
  };
  expect_golden(diverged(""));
  write_npy<int64_t>("n.npy", "<i8", "3,", {2, 2, 2});
  write_npy<float>("x.npy", "<f4", "3, 2, 1", {1, 2, 3, 4, 5, 6});
  expect_golden(diverged("train_lengths: n.npy\n"));
}

TEST_F(ArraysOfSteps, OfZeroToOneAreCheckedWithinTheirLengths) {
  write_npy<float>("x.npy", "<f4", "2, 2, 1", {1, 2, 3, 4});
  write_npy<float>("y.npy", "<f4", "2, 2", {0, 1, 1, 9});
  write_npy<int64_t>("n.npy", "<i8", "2,", {2, 1});
  EXPECT_NO_THROW(load_dataset(settings("train_lengths: n.npy\ntask: binary\n")));
  expect_golden(load_error("task: binary\n"));
}

TEST_F(ArraysOfSteps, NeedATargetForEachStep) {
  write_npy<float>("x.npy", "<f4", "2, 2", {1, 2, 3, 4});
  write_npy<int64_t>("y.npy", "<i8", "2, 3", {0, 1, 0, 1, 0, 1});
  expect_golden(load_error());
  write_npy<int64_t>("y.npy", "<i8", "2,", {0, 1});
  expect_golden(load_error("task: classification\n"));
  write_npy<int64_t>("y.npy", "<i8", "2, 2, 1", {0, 1, 0, 1});
  expect_golden(load_error("task: classification\n"));
}

TEST_F(ArraysOfSteps, ArePredictedWithTheirSampleAndStep) {
  write_npy<float>("x.npy", "<f4", "2, 2", {1, 2, 3, 4});
  write_npy<int64_t>("y.npy", "<i8", "2, 2", {0, 1, 1, 0});
  write_npy<int64_t>("n.npy", "<i8", "2,", {2, 1});
  const DataSettings of_steps = settings("train_lengths: n.npy\n");
  const InferenceData all = load_for_inference(of_steps, load_dataset(of_steps), DataPart::kAll, Targets::kIfPresent);
  EXPECT_FALSE(all.rows.are_numbered);
  ASSERT_EQ(all.rows.rows.size(), 3u);
  EXPECT_THAT(all.rows.rows[2].id, ElementsAre("1", "0"));
  const InferenceData valid =
      load_for_inference(of_steps, load_dataset(of_steps), DataPart::kValid, Targets::kIfPresent);
  ASSERT_EQ(valid.rows.rows.size(), 1u);
  EXPECT_THAT(valid.rows.rows[0].id, ElementsAre("1", "0")) << "as in the file";
}

}  // namespace
}  // namespace rnnlab
