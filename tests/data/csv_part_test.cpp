// SPDX-License-Identifier: Apache-2.0
// Tests the rows of a part of a table as samples: targets that are missing, which are never filled, and targets of
// steps.
#include <fmt/format.h>

#include "csv_data.h"
#include "data/inspect.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::NanSensitiveFloatEq;

class MissingTargets : public CsvData {
 protected:
  MissingTargets() : CsvData("normalize: none\n") {}
};

// The rows of a window may lack the column that is also the target: as inputs they are filled, as targets never.
TEST_F(MissingTargets, AreNeverFilledWhateverThePolicy) {
  write("a.csv", "y\n1\n2\nNA\n4\n5\n6\nNA\n8\n9\nNA\n");
  for (const std::string policy : {"previous", "mean", "zero"}) {
    const Dataset data = load("target: [y]\nwindow: 1\nnum_valid: 4\nmissing: " + policy + "\n");
    const float filled = policy == "previous" ? 2 : policy == "mean" ? (1 + 2 + 4 + 5 + 6) / 5.0F : 0;
    EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(2, 4, 5, 6)) << policy << ": rows 1 to 5";
    EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, filled, 4, 5)) << policy;
    EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(8, 9)) << policy << ": of rows 6 to 9";
    expect_golden(data.notes);
  }
  EXPECT_THAT(load_error("target: [y]\nwindow: 1\nnum_valid: 4\n"), HasSubstr("a.csv:4: column 'y'"));
}

TEST_F(MissingTargets, DoNotHideThatTheDataAreTooFew) {
  const std::string settings = "target: [y]\nwindow: 2\nmissing: drop\n";
  write("a.csv", "y\n1\n2\n3\n4\n5\n6\n");
  EXPECT_EQ(load(settings + "num_valid: 1\nnum_train: 3\n").train.size(), 3);
  expect_golden(load_error(settings + "num_valid: 1\nnum_train: 50\n"));
  write("valid.csv", "y\n1\n2\n3\n4\n");
  expect_golden(load_error(
      settings + fmt::format("train_file: {}\nvalid_file: {}\nnum_valid: 9\n", path("a.csv"), path("valid.csv"))));
  write("a.csv", "y\n1\nNA\n3\n4\n5\n6\n");
  EXPECT_EQ(load(settings + "num_valid: 1\nnum_train: 3\n").train.size(), 1) << "of 3 windows";
  expect_golden(load_error(settings + "num_valid: 1\nnum_train: 4\n"));
}

TEST_F(MissingTargets, HaveNoPartInTheScales) {
  write("a.csv", "x,y\n1,10\n2,\n3,20\n4,30\n5,99\n");
  const Dataset data =
      load_dataset(table("target: [y]\ntask: regression\nsplit: ordered\nnum_valid: 1\nmissing: zero\n"));
  EXPECT_EQ(data.target_scales.at(0).offset, 20) << "the mean of 10, 20 and 30";
}

// A sample is kept if one of its targets is known.
TEST_F(MissingTargets, OfSeveralHorizonsAreLeftOutOneByOne) {
  write("a.csv", "y\n1\n2\n3\nNA\n5\n6\n7\nNA\nNA\n10\n");
  const Dataset data = load("target: [y]\nwindow: 1\nhorizon: [1, 2]\nnum_valid: 3\nmissing: previous\n");
  EXPECT_THAT(values_of<float>(data.valid.targets),
              ElementsAre(7, NanSensitiveFloatEq(kUnknown), NanSensitiveFloatEq(kUnknown), 10));
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(6, 7)) << "not the window whose two targets are missing";
  EXPECT_THAT(values_of<int64_t>(target_counts(data.valid)), ElementsAre(1, 1));
  expect_golden(data.notes);
}

TEST_F(MissingTargets, AreClassesOfSeriesToo) {
  write("a.csv", "x,up\n1,no\n2,yes\n3,\n1,no\n5,yes\n2,?\n3,no\n");
  const Dataset data = load("target: [up]\nwindow: 1\ntask: classification\nnum_valid: 3\nmissing: previous\n");
  EXPECT_THAT(data.vocabulary, ElementsAre("no", "yes"));
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(1, 0)) << "of rows 1 to 3";
  EXPECT_THAT(values_of<int64_t>(data.valid.targets), ElementsAre(1, 0)) << "of rows 4 to 6";
  EXPECT_THAT(values_of<int64_t>(data.naive_forecasts.at(0).values), ElementsAre(0, 1))
      << "the last class that is known";
}

TEST_F(MissingTargets, OfStepsAreLeftOutStepByStep) {
  write("a.csv", "g,x,tag\na,1,N\na,2,\nb,5,V\nb,6,N\nc,9,\nc,8,V\n");
  const Dataset data = load("target_per: step\ngroup: g\ntarget: [tag]\nsplit: ordered\nnum_valid: 1\nmissing: zero\n");
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(0, -1, 1, 0));
  EXPECT_THAT(values_of<int64_t>(target_counts(data.train)), ElementsAre(1, 2));
  EXPECT_THAT(values_of<int64_t>(known_classes(data.train)), ElementsAre(0, 1, 0));
  EXPECT_THAT(values_of<int64_t>(data.valid.targets), ElementsAre(-1, 1));
}

TEST_F(MissingTargets, OfStepsCountWithinTheLengths) {
  write("a.csv", "g,x,y\na,1,1\na,2,\na,3,3\nb,4,4\nc,5,\n");
  const Dataset data = load(
      "target_per: step\ngroup: g\ntarget: [y]\ntask: regression\nsplit: ordered\nnum_valid: 0\n"
      "missing: zero\n");
  EXPECT_THAT(values_of<int64_t>(data.train.lengths), ElementsAre(3, 1)) << "c has no target";
  EXPECT_THAT(values_of<int64_t>(target_counts(data.train)), ElementsAre(2, 1));
}

TEST_F(MissingTargets, LeaveTheRowOutWithDrop) {
  write("a.csv", "x,kind\n1,a\n2,\n3,b\n,a\n5,b\n6,a\n");
  const Dataset data = load("target: [kind]\nsplit: ordered\nnum_valid: 1\nmissing: drop\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 3, 5));
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(0, 1, 1));
  expect_golden(data.notes);
}

TEST_F(MissingTargets, AreRefusedByDefaultAndWhereNoneIsLeft) {
  struct Case {
    const char *text, *more;
  };
  for (const auto& [text, more] :
       {Case{"x,kind\n1,a\n2,\n3,b\n", "target: [kind]\nsplit: ordered\nnum_valid: 1\n"},
        Case{"x,y\n1,2\n2,\n3,4\n", "target: [y]\ntask: regression\nnum_valid: 1\n"},
        Case{"x,y\n1,\n,2\n", "target: [y]\ntask: regression\nnum_valid: 1\nmissing: drop\n"},
        Case{"y\n1\n2\n3\n4\n5\nNA\nNA\n", "target: [y]\nwindow: 1\nnum_valid: 2\nmissing: previous\n"},
        Case{"x,y,z\n1,1,\n2,2,\n3,3,5\n",
             "target: [y, z]\ntask: regression\nsplit: ordered\nnum_valid: 1\nmissing: zero\n"}}) {
    write("a.csv", text);
    expect_golden(load_error(more));
  }
}

// The first differences of a series have an empty cell at the beginning.
TEST_F(MissingTargets, DropTheWindowsWithAMissingInput) {
  write("a.csv", "d,y\n,1\n2,2\n3,3\n4,4\nNA,5\n6,6\n7,7\n8,8\n9,9\n");
  const Dataset data = load("target: [y]\nfeatures: [d]\nwindow: 2\nnum_valid: 1\nmissing: drop\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(2, 3, 3, 4, 6, 7));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(4, 5, 8)) << "no window has a gap";
  expect_golden(data.notes);
  const Dataset last = load("target: [y]\nfeatures: [d]\nwindow: 2\nnum_valid: 4\nmissing: drop\n");
  EXPECT_THAT(values_of<float>(last.valid.targets), ElementsAre(8, 9)) << "of rows 5 to 8; two windows have row 4";
  expect_golden(load_error("target: [y]\nfeatures: [d]\nwindow: 5\nnum_valid: 1\nmissing: drop\n"));
}

TEST_F(MissingTargets, EndSequencesOfStepsWithDrop) {
  write("a.csv", "x,y\n,1\n2,2\n3,3\n,4\n5,5\n6,6\n");
  const Dataset data =
      load("target_per: step\nwindow: 9\ntarget: [y]\ntask: regression\nsplit: ordered\nnum_valid: 1\nmissing: drop\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(2, 3));
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(5, 6));
}

TEST_F(MissingTargets, SayWhichRowsOfAFileHaveNoWindow) {
  write("a.csv", "d,y\n,1\n2,2\n3,3\n4,4\n5,5\n6,6\n");
  const std::string more = "target: [y]\nfeatures: [d]\nwindow: 2\nnum_valid: 1\nmissing: drop\n";
  const InferenceData all = use(more, load(more));
  std::vector<std::string> reasons;
  for (const FileRow& row : all.rows.rows) reasons.push_back(row.reason);
  expect_golden(reasons);
}

// The last value before row 6 that is known is that of row 4.
TEST_F(MissingTargets, AreNotTheLastValueOfANaiveForecast) {
  write("a.csv", "y\n1\n2\n3\n4\n5\nNA\n7\n8\n");
  const Dataset data = load("target: [y]\nwindow: 1\nnum_valid: 3\nseason: 2\nmissing: zero\n");
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(7, 8));
  EXPECT_THAT(values_of<float>(data.naive_forecasts.at(0).values), ElementsAre(5, 7));
  EXPECT_THAT(values_of<float>(data.naive_forecasts.at(1).values), ElementsAre(5, 4)) << "two seasons before";
}

TEST_F(MissingTargets, LeaveANaiveForecastOutIfNothingIsKnownBefore) {
  write("a.csv", "g,x,y\na,1,1\na,2,2\na,3,3\na,4,4\nb,1,\nb,2,5\nb,3,NA\nb,4,7\n");
  const Dataset data = load("target: [y]\nfeatures: [x]\ngroup: g\nwindow: 1\nnum_valid: 2\nmissing: zero\n");
  EXPECT_THAT(data.notes, ::testing::Not(Contains(HasSubstr("the baseline"))));
  write("a.csv", "g,x,y\na,1,1\na,2,2\na,3,3\na,4,4\nb,1,\nb,2,\nb,3,NA\nb,4,7\n");
  const Dataset lacks = load("target: [y]\nfeatures: [x]\ngroup: g\nwindow: 1\nnum_valid: 2\nmissing: zero\n");
  expect_golden(lacks.notes);
}

TEST_F(MissingTargets, StayUnknownInPredictions) {
  write("a.csv", "y\n1\n2\n3\n4\n5\n6\nNA\n8\n");
  const std::string more = "target: [y]\nwindow: 1\nnum_valid: 3\nmissing: previous\n";
  const Dataset data = load(more);
  const InferenceData used = use(more, data, DataPart::kValid);
  EXPECT_THAT(values_of<float>(used.samples.targets), ElementsAre(6, NanSensitiveFloatEq(kUnknown), 8));
  EXPECT_THAT(values_of<float>(used.samples.inputs), ElementsAre(5, 6, 6)) << "inputs are filled";
  const InferenceData evaluated = use(more, data, DataPart::kValid, Targets::kRequired);
  EXPECT_THAT(values_of<float>(evaluated.samples.targets), ElementsAre(6, 8));
  EXPECT_THAT(values_of<float>(evaluated.naive_forecasts.at(0).values), ElementsAre(5, 6));
  expect_golden(evaluated.notes);
}

// ---- steps with a target each: data.target_per: step ----

class CsvOfSteps : public CsvData {
 protected:
  CsvOfSteps() : CsvData("target_per: step\nnormalize: none\nsplit: ordered\n") {}

  // Three sentences of 2, 3 and 1 words, whose rows take turns.
  void write_words() const { write("a.csv", "sentence,length,tag\na,1,N\nb,5,V\na,2,V\nb,6,N\nb,7,N\nc,9,V\n"); }
};

constexpr const char* kTaggedWords = "group: sentence\ntarget: [tag]\n";

TEST_F(CsvOfSteps, AreSequencesOfTheirGroups) {
  write_words();
  const Dataset data = load(fmt::format("{}num_valid: 1\n", kTaggedWords));
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
  EXPECT_EQ(inspection_json(inspect(settings(kTaggedWords)))["training"]["classes"][0].dump(),
            R"({"class":"N","steps":3})");
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
  const Dataset data =
      load_dataset(table(fmt::format("target_per: step\nnormalize: none\nnum_valid: 1\n{}", kTaggedWords)));
  std::vector<float> rows = values_of<float>(data.train.inputs);
  for (const float row : values_of<float>(data.valid.inputs)) rows.push_back(row);
  std::erase(rows, 0);  // the padding
  EXPECT_THAT(rows, ::testing::UnorderedElementsAre(1, 2, 5, 6, 7, 9));
}

TEST_F(CsvOfSteps, HaveNoLengthsIfAllSequencesAreWhole) {
  write("a.csv", "x,y\n1,0\n2,1\n3,0\n4,1\n");
  const Dataset data = load("window: 2\ntarget: [y]\nnum_valid: 1\n");
  EXPECT_FALSE(data.train.lengths.defined());
  EXPECT_FALSE(data.shape.has_lengths);
}

TEST_F(CsvOfSteps, AreScaledByTheRowsOfTheTrainingPart) {
  write_words();
  const Dataset data = load_dataset(
      table(fmt::format("target_per: step\nsplit: ordered\nnum_valid: 1\nnormalize: minmax\n{}", kTaggedWords)));
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(8 / 6.0F, 0, 0)) << "1 and 7 of training are 0 and 1";
}

TEST_F(CsvOfSteps, ArePredictedRowByRow) {
  write_words();
  const Dataset data = load(fmt::format("{}num_valid: 1\n", kTaggedWords));
  const InferenceData all = use(fmt::format("{}num_valid: 1\nid: [sentence]\n", kTaggedWords), data);
  std::vector<int64_t> samples;
  for (const FileRow& row : all.rows.rows) samples.push_back(row.sample.value());
  EXPECT_THAT(samples, ElementsAre(0, 2, 1, 3, 4, 5)) << "in the order of the file";
  EXPECT_THAT(all.rows.rows[1].id, ElementsAre("b"));
}

TEST_F(CsvOfSteps, ContradictWhatForecastsNeed) {
  for (const char* more : {"", "window: 2\nhorizon: 3\n", "group: a\nhorizon: 3\n", "group: a\nhorizon: [3, 1]\n",
                           "group: a\nseason: 3\n", "window: 2\ninputs_from: part\n"})
    expect_golden(usage_error(std::string("target: [tag]\n") + more));
}

}  // namespace
}  // namespace rnnlab
