// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "data/inspect.h"
#include "data/load_dataset.h"
#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kHeader = "@problemName X\n@univariate false\n@dimensions 2\n@equalLength false\n";

class LoadTs : public DataTest {
 protected:
  DataSettings settings(const std::string& more) const {
    return parse_settings(fmt::format("source: ts\npath: {}\ntrain_file: X_TRAIN.ts\n{}", folder().string(), more));
  }
  Dataset load(const std::string& more) const { return load_dataset(settings(more)); }
  std::string load_error(const std::string& more) const {
    return error_of(ExitCode::kData, [&] { load(more); });
  }
  static std::string classes(std::string_view series, std::string_view labels = "walk run") {
    return fmt::format("{}@classLabel true {}\n@data\n{}", kHeader, labels, series);
  }
  static std::string numbers(std::string_view series) {
    return fmt::format("{}@targetLabel true\n@data\n{}", kHeader, series);
  }
  // Returns the message of the settings that cannot be.
  std::string complaint(const std::string& yaml) const {
    return error_of(ExitCode::kUsage, [&] { parse_settings(yaml); });
  }
};

TEST_F(LoadTs, PadsShorterSeriesAndKeepsTheirLengths) {
  write("X_TRAIN.ts", classes("1,2,3:10,20,30:run\n4:40:walk\n5,6:50,60:run\n"));
  const Dataset data = load("split: ordered\nnum_valid: 1\nnormalize: none\n");
  EXPECT_EQ(data.shape.task, Task::kClassification);
  EXPECT_EQ(data.shape.sequence_length, 3);
  EXPECT_EQ(data.shape.input_size, 2);
  EXPECT_TRUE(data.shape.has_lengths);
  EXPECT_THAT(data.vocabulary, ElementsAre("walk", "run"));
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 10, 2, 20, 3, 30, 4, 40, 0, 0, 0, 0));
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(1, 0));
  EXPECT_THAT(values_of<int64_t>(data.train.lengths), ElementsAre(3, 1));
  EXPECT_THAT(values_of<int64_t>(data.valid.lengths), ElementsAre(2));
  expect_golden(data.notes);
}

TEST_F(LoadTs, HasNoLengthsIfAllSeriesAreWhole) {
  write("X_TRAIN.ts", classes("1,2:3,4:run\n5,6:7,8:walk\n"));
  const Dataset data = load("num_valid: 1\n");
  EXPECT_FALSE(data.shape.has_lengths);
  EXPECT_FALSE(data.train.lengths.defined());
}

TEST_F(LoadTs, ScalesInputsAndNumbersByTheTrainingPart) {
  write("X_TRAIN.ts", numbers("0:0:10\n2:20:30\n100:100:100\n"));
  const Dataset data = load("split: ordered\nnum_valid: 1\n");
  EXPECT_EQ(data.shape.task, Task::kRegression);
  EXPECT_EQ(data.shape.num_outputs, 1);
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(-1, -1, 1, 1));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(-1, 1));
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(8));
  ASSERT_EQ(data.target_scales.size(), 1U);
  EXPECT_EQ(data.target_scales[0].offset, 20);
  EXPECT_EQ(data.target_scales[0].scale, 10);
  EXPECT_EQ(fault_of(data, settings("")), "");
}

TEST_F(LoadTs, ReadsAFileOfItsOwnForValidation) {
  write("X_TRAIN.ts", classes("1:10:run\n2:20:walk\n"));
  write("X_TEST.ts", classes("1,2:3,4:walk\n", "run walk"));
  const Dataset data = load("valid_file: X_TEST.ts\nnormalize: none\n");
  EXPECT_EQ(data.train.size(), 2);
  EXPECT_EQ(data.train.inputs.size(1), 2);
  EXPECT_THAT(values_of<int64_t>(data.train.lengths), ElementsAre(1, 1));
  EXPECT_THAT(values_of<int64_t>(data.valid.targets), ElementsAre(0));
}

TEST_F(LoadTs, RefusesAFileThatIsNotLikeTraining) {
  write("X_TRAIN.ts", classes("1:10:run\n2:20:walk\n"));
  write("a.ts", "@classLabel true walk run\n@data\n1:run\n");
  expect_golden(load_error("valid_file: a.ts"));
  write("b.ts", classes("1:1:run\n2:2:jump\n", "walk run jump"));
  expect_golden(load_error("valid_file: b.ts"));
  write("c.ts", numbers("1:1:2\n"));
  expect_golden(load_error("valid_file: c.ts"));
}

TEST_F(LoadTs, NeedsAClassOfEverySeriesForTraining) {
  write("X_TRAIN.ts", classes("1:10:run\n2:20:?\n"));
  expect_golden(load_error(""));
  write("X_TRAIN.ts", numbers("1:10:1\n2:20:?\n"));
  expect_golden(load_error(""));
  write("X_TRAIN.ts", fmt::format("{}@data\n1:10\n2:20\n", kHeader));
  expect_golden(load_error(""));
}

TEST_F(LoadTs, FillsMissingValuesAndSaysSo) {
  write("X_TRAIN.ts", classes("1,?:10,20:run\n2:20:walk\n"));
  const Dataset data = load("split: ordered\nnum_valid: 0\nnormalize: none\nmissing: previous\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 10, 1, 20, 2, 20, 0, 0));
  expect_golden(data.notes[0]);
}

TEST_F(LoadTs, LeavesMissingTargetsOut) {
  write("a.ts", "@univariate true\n@targetLabel true\n@data\n1,2:5\n3,?:?\n5,6:7\n7,8:9\n");
  const std::string ts = "source: ts\npath: a.ts\nnormalize: none\nsplit: ordered\nnum_valid: 1\n";
  EXPECT_THAT(error_of(ExitCode::kData, [&] { load_dataset(parse_settings(ts)); }), HasSubstr("a.ts:5"));
  const Dataset data = load_dataset(parse_settings(ts + "missing: previous\n"));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(5, 7));
  write("a.ts", "@univariate true\n@classLabel true a b\n@data\n1,2:a\n3,4:?\n5,6:b\n7,8:a\n");
  expect_golden(error_of(ExitCode::kData, [&] { load_dataset(parse_settings(ts)); }));
  EXPECT_THAT(values_of<int64_t>(load_dataset(parse_settings(ts + "missing: zero\n")).train.targets),
              ElementsAre(0, 1));
}

// 20,000 series of one step and one of 20,000 would be 400 million values.
TEST_F(LoadTs, RefusesPaddingThatWouldExhaustTheMemory) {
  std::string series;
  for (int i = 0; i < 20'000; ++i) series += "1:1:run\n";
  std::string ones = "1";
  for (int i = 1; i < 20'000; ++i) ones += ",1";
  write("X_TRAIN.ts", classes(series + ones + ":" + ones + ":walk\n"));
  expect_golden(load_error(""));
}

TEST_F(LoadTs, ChecksItsSettings) {
  expect_golden(complaint("source: ts\n"));
  expect_golden(complaint("source: ts\npath: x\nmissing: mean\n"));
  EXPECT_THAT(complaint("source: ts\npath: x\nnormalize: unit\n"), HasSubstr("unit divides bytes"));
}

class UseTs : public LoadTs {
 protected:
  void SetUp() override {
    write("X_TRAIN.ts", classes("1,2,3:10,20,30:run\n4:40:walk\n5,6:50,60:run\n"));
    write("X_TEST.ts", classes("1,2,3,4:10,20,30,40:walk\n4:40:?\n"));
    fitted_ = load("split: ordered\nnum_valid: 1\ntest_file: X_TEST.ts\n");
  }
  InferenceData use(const std::string& more, DataPart part, Targets targets) const {
    return load_for_inference(settings("split: ordered\nnum_valid: 1\n" + more), fitted_, part, targets);
  }

  Dataset fitted_;
};

TEST_F(UseTs, ReadsTheTestFileAsItIs) {
  const InferenceData test = use("test_file: X_TEST.ts\n", DataPart::kTest, Targets::kIfPresent);
  EXPECT_THAT(values_of<int64_t>(test.samples.targets), ElementsAre(0, -1));
  EXPECT_THAT(values_of<int64_t>(test.samples.lengths), ElementsAre(4, 1));
  EXPECT_EQ(test.samples.inputs.size(1), 4);
  ASSERT_EQ(test.rows.rows.size(), 2U);
  EXPECT_EQ(test.rows.rows[1].number, 2);
  expect_golden(error_of(ExitCode::kData, [&] { use("test_file: X_TEST.ts\n", DataPart::kTest, Targets::kRequired); }));
}

TEST_F(UseTs, GivesTheSamplesOfTraining) {
  const InferenceData valid = use("", DataPart::kValid, Targets::kIfPresent);
  EXPECT_TRUE(valid.samples.inputs.equal(fitted_.valid.inputs));
  EXPECT_TRUE(valid.samples.lengths.equal(fitted_.valid.lengths));
  EXPECT_EQ(valid.rows.rows[0].number, 3);
  EXPECT_EQ(use("", DataPart::kAll, Targets::kRequired).samples.size(), 3);
}

TEST_F(UseTs, PredictsSeriesWithoutClasses) {
  write("new.ts", fmt::format("{}@data\n1:10\n2:20\n", kHeader));
  const InferenceData all =
      load_for_inference(parse_settings("source: ts\npath: new.ts\n"), fitted_, DataPart::kAll, Targets::kIfPresent);
  EXPECT_FALSE(all.samples.targets.defined());
  EXPECT_EQ(all.samples.inputs.size(1), 3);
}

TEST_F(UseTs, RefusesOtherDimensionsAndTargets) {
  const auto error_with = [&](std::string_view text) {
    write("new.ts", text);
    return error_of(ExitCode::kData, [&] {
      load_for_inference(parse_settings("source: ts\npath: new.ts\n"), fitted_, DataPart::kAll, Targets::kIfPresent);
    });
  };
  expect_golden(error_with("@classLabel true walk run\n@data\n1:run\n"));
  expect_golden(error_with(numbers("1:1:2\n")));
}

class InspectTs : public LoadTs {
 protected:
  static std::string yaml_of(const std::string& name) {
    return join(std::get<FileInspection>(inspect_file(name)).yaml, "|");
  }
};

TEST_F(InspectTs, SaysWhatTheFileHoldsAndPrintsLinesThatTrain) {
  write("X_TRAIN.ts", classes("1,2,3:10,20,30:run\n4:40:walk\n5,6:50,60:run\n"));
  write("X_TEST.ts", classes("1:1:run\n"));
  expect_golden(inspection_text(inspect_file("X_TRAIN.ts")));
  EXPECT_EQ(yaml_of("X_TEST.ts"), yaml_of("X_TRAIN.ts"));
  const auto json = inspection_json(inspect_file("X_TRAIN.ts"));
  EXPECT_EQ(json["format"], "ts");
  EXPECT_EQ(json["samples"], 3);
  EXPECT_EQ(json["classes"][1]["samples"], 2);
}

TEST_F(InspectTs, KnowsTheHeaderUnderAnyName) {
  write("series.txt", numbers("1,?:10,20:0.5\n2:20:1.5\n"));
  expect_golden(yaml_of("series.txt"));
}

TEST_F(InspectTs, SaysThatSeriesWithoutATargetDoNotTrain) {
  write("new.ts", "@univariate true\n@data\n1,2\n");
  EXPECT_THAT(inspection_text(inspect_file("new.ts")), HasSubstr("hint: the series have neither"));
  EXPECT_EQ(yaml_of("new.ts"), "");
}

// Files of the UCR archive are tables without a header, with the class first.
TEST_F(InspectTs, GuessesATableOfTheUcrArchive) {
  write("a.tsv", "1\t0.5\t1.25\n2\t0.75\t1.5\n1\t0.1\t1.1\n2\t0.2\t1.2\n");
  expect_golden(yaml_of("a.tsv"));
  write("A_TRAIN.tsv", "1\t0.5\t1.25\n2\t0.75\t1.5\n3\t0.1\t1.1\n");
  write("A_TEST.tsv", "1\t0.5\t1.25\n");
  expect_golden(yaml_of("A_TRAIN.tsv"));
}

TEST_F(InspectTs, TakesMissingValuesOfTheUcrArchiveForTheEndsOfShorterSeries) {
  write("A_TRAIN.tsv", "1\t0.5\t1.25\t3\n2\t0.75\t1.5\tNaN\n3\t0.1\tNaN\tNaN\n");
  write("A_TEST.tsv", "1\t0.5\t1.25\t2\n");
  expect_golden(yaml_of("A_TRAIN.tsv"));
}

}  // namespace
}  // namespace rnnlab
