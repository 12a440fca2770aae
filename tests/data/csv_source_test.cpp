// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "csv_data.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

class LoadCsv : public CsvData {
 protected:
  void write_flowers() const {
    write("a.csv", "length,width,kind\n1,10,rose\n2,10,lily\n3,10,rose\n4,20,lily\n5,20,rose\n");
  }

  // value 0 .. 9 and a second column ten times as large.
  void write_series() const {
    std::string text = "value,tens\n";
    for (int i = 0; i < 10; ++i) text += fmt::format("{},{}\n", i, 10 * i);
    write("a.csv", text);
  }
};

TEST_F(LoadCsv, MakesASequenceOfEveryRowsFeatures) {
  write_flowers();
  const Dataset data = load("target: [kind]\nsplit: ordered\nnum_valid: 1\nnormalize: none\n");
  EXPECT_EQ(data.shape.task, Task::kClassification);
  EXPECT_EQ(data.shape.sequence_length, 2);
  EXPECT_EQ(data.shape.input_size, 1);
  EXPECT_THAT(data.vocabulary, ElementsAre("lily", "rose"));
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 10, 2, 10, 3, 10, 4, 20));
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(5, 20));
  expect_golden(data.notes);
}

TEST_F(LoadCsv, NamesWhatItCannotUse) {
  struct Case {
    const char *text, *more;
  };
  for (const auto& [text, more] :
       {Case{"day,speed,way to go\n2026-01-01,1,2\n2026-01-02,3,4\n", "target: [speed]\nwindow: 1\n"},
        Case{"wind,speed\nnorth,1\neast,3\nnorth,4\n", "target: [speed]\nwindow: 1\n"},
        Case{"length,kind\n1,rose\n2,lily\n", "target: [kin]\n"},
        Case{"length,kind\n1,rose\n2,lily\n", "target: [kind]\nfeatures: [x]\n"},
        Case{"length,kind\n1,rose\n2,lily\n", "target: [kind]\nnum_test: 2\n"},
        Case{"x,y\n,1\n,2\n3,3\n", "target: [y]\ntask: regression\nsplit: ordered\nnum_valid: 1\nmissing: mean"},
        Case{"x,y\n1,0\n1e300,1\n", "target: [y]"}, Case{"x,y\n1,0\n2,3\n", "target: [y]\ntask: binary"},
        Case{"x,y\n1,0\ninf,1\n", "target: [y]"}, Case{"y\n1\n2\n", "target: [y]"},
        Case{"day,y\n1,0\n2,1\n3,0\n", "target: [y]\nid: [dai]"},
        Case{"day,y\n1,0\n2,1\n3,0\n", "target: [y]\nid: [day]"},
        Case{"station,x\nnorth,1\nsouth,2\n,7\n", "target: [x]\nwindow: 1\ngroup: station\n"}}) {
    write("a.csv", text);
    expect_golden(load_error(more));
  }
}

TEST_F(LoadCsv, RefusesPartsAndWindowsThatTheSeriesDoesNotHave) {
  write_series();
  for (const char* more :
       {"window: 9\n", "window: 2\nnum_valid: 20\n", "window: 10\nnum_valid: 20\n", "window: 1\nhorizon: [1, 2, 3]\n",
        "window: 1\nhorizon: 9\n", "window: 3\ntest_fraction: 0.99\nnum_valid: 2\n",
        "window: 1\ntest_fraction: 0.6\nnum_valid: 5\n", "window: 3\nnum_test: 10\n",
        "window: 3\nhorizon: 20\nnum_test: 10\n"})
    expect_golden(load_error(std::string("target: [value]\n") + more));
  EXPECT_EQ(load("target: [value]\nwindow: 2\nnum_valid: 7\n").train.size(), 1);
}

TEST_F(LoadCsv, AsksWhatDecimalsAreMeantToBe) {
  write("a.csv", "size,price\n1,17\n2,17.38\n3,18.2\n4,19\n");
  expect_golden(load_error("target: [price]\n"));
  const auto task_of = [&](const std::string& task) {
    return load("target: [price]\nsplit: ordered\nnum_valid: 1\ntask: " + task).shape.task;
  };
  EXPECT_EQ(task_of("regression"), Task::kRegression);
  EXPECT_EQ(task_of("classification"), Task::kClassification);
}

TEST_F(LoadCsv, ScalesColumnsByTheTrainingPartOnly) {
  write_flowers();
  const Dataset data = load("target: [kind]\nsplit: ordered\nnum_valid: 2\nnormalize: minmax\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(0, 0, .5, 0, 1, 0));
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(1.5, 10, 2, 10));  // width was constant: shifted only
  expect_golden(data.notes);
}

TEST_F(LoadCsv, ScalesByWhatIsTrainedOnOnly) {
  write_flowers();
  const Dataset data = load("target: [kind]\nsplit: ordered\nnum_valid: 1\nnum_train: 2\nnormalize: minmax\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(0, 0, 1, 0));
}

TEST_F(LoadCsv, ChoosesColumnsByName) {
  write_flowers();
  const Dataset data = load("features: [width]\ntarget: [length]\ntask: regression\nsplit: ordered\nnormalize: none\n");
  EXPECT_EQ(data.shape.task, Task::kRegression);
  EXPECT_EQ(data.shape.num_outputs, 1);
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(10, 10, 10, 20));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(1, 2, 3, 4));
}

TEST_F(LoadCsv, SlidesAWindowOverASeries) {
  write_series();
  const Dataset data = load("target: [value]\nwindow: 3\nhorizon: 2\nnum_valid: 1\nnormalize: none\n");
  EXPECT_EQ(data.shape.task, Task::kRegression);
  EXPECT_EQ(data.shape.sequence_length, 3);
  EXPECT_EQ(data.shape.input_size, 2);  // the target's past too
  ASSERT_EQ(data.train.size(), 5) << "rows 0 to 8; the target of validation is row 9";
  EXPECT_THAT(values_of<float>(data.train.inputs[0]), ElementsAre(0, 0, 1, 10, 2, 20));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(4, 5, 6, 7, 8));
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(5, 50, 6, 60, 7, 70));
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(9));
}

TEST_F(LoadCsv, KeepsNothingForValidationWhereNoneIsWanted) {
  write_series();
  const Dataset windows = load("target: [value]\nwindow: 9\nnum_valid: 0\n");
  EXPECT_EQ(windows.train.size(), 1);
  EXPECT_EQ(windows.valid.size(), 0);
  const Dataset rows = load("target: [value]\ntask: regression\nsplit: random\nnum_valid: 0\n");
  EXPECT_EQ(rows.train.size(), 10);
  EXPECT_EQ(rows.valid.size(), 0);
}

TEST_F(LoadCsv, SplitsASeriesByTheOrderOfItsRows) {
  write_series();
  const Dataset data = load("target: [value]\nfeatures: [tens]\nwindow: 1\nvalid_fraction: 0.3\nnormalize: none\n");
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(7, 8, 9));
}

// The rows before a part are known when its targets are forecast.
TEST_F(LoadCsv, LetsInputsReachBackOverTheBorderOfAPart) {
  write_series();
  const std::string more =
      "target: [value]\nfeatures: [tens]\nwindow: 2\nhorizon: 2\nnum_valid: 2\nnum_test: 1\n"
      "normalize: none\n";
  const Dataset data = load(more);
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(3, 4, 5, 6)) << "rows 0 to 6";
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(40, 50, 50, 60));
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(7, 8));
  const InferenceData test = use(more, data, DataPart::kTest, Targets::kRequired);
  EXPECT_THAT(values_of<float>(test.samples.inputs), ElementsAre(60, 70));
  EXPECT_THAT(values_of<float>(test.samples.targets), ElementsAre(9));
}

// As in versions without the key: a part of two windows has five rows.
TEST_F(LoadCsv, KeepsInputsInTheirPartIfThatIsWanted) {
  write_series();
  const Dataset data = load(
      "target: [value]\nfeatures: [tens]\nwindow: 2\nhorizon: 2\nnum_valid: 2\n"
      "inputs_from: part\nnormalize: none\n");
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(3, 4)) << "rows 0 to 4";
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(50, 60, 60, 70));
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(8, 9));
  expect_golden(error_of(ExitCode::kUsage, [&] { load("target: [value]\ninputs_from: part\n"); }));
}

TEST_F(LoadCsv, CutsASeriesToItsFirstWindows) {
  write_series();
  const Dataset data = load("target: [value]\nwindow: 2\nnum_train: 3\nvalid_fraction: 0.3\nnormalize: minmax\n");
  EXPECT_EQ(data.train.size(), 3);
  EXPECT_EQ(data.target_scales.at(0).scale, 4);  // rows 0 to 4 make three windows with their targets
}

TEST_F(LoadCsv, ScalesTheTargetOfARegressionAndSaysHow) {
  write_series();
  const Dataset data = load("target: [tens]\nwindow: 1\nnum_valid: 1\nnormalize: minmax\n");
  ASSERT_EQ(data.target_scales.size(), 1u);
  EXPECT_EQ(data.target_scales[0].name, "tens");
  EXPECT_EQ(data.target_scales[0].offset, 0);
  EXPECT_EQ(data.target_scales[0].scale, 80);
  EXPECT_FLOAT_EQ(data.valid.targets.item<float>(), 90.f / 80);
}

TEST_F(LoadCsv, ClassifiesWindows) {
  write("a.csv", "x,up\n1,no\n2,yes\n3,yes\n1,no\n5,yes\n2,no\n");
  const Dataset data = load("target: [up]\nwindow: 2\ntask: classification\nnum_valid: 1\nnormalize: none\n");
  EXPECT_THAT(data.vocabulary, ElementsAre("no", "yes"));
  EXPECT_EQ(data.shape.input_size, 1);
  EXPECT_THAT(values_of<int64_t>(data.train.targets), ElementsAre(1, 0, 1));
  EXPECT_THAT(values_of<int64_t>(data.valid.targets), ElementsAre(0));
}

TEST_F(LoadCsv, TakesAFileOfItsOwnForValidation) {
  write("a.csv", "x,kind\n1,b\n3,a\n");
  write("b.csv", "kind,x\na,5\n");
  const std::string more = "target: [kind]\nnormalize: minmax\n";
  const Dataset data = load_both(more);
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(2));
  EXPECT_THAT(values_of<int64_t>(data.valid.targets), ElementsAre(0));
  write("b.csv", "kind,x\na,5\nc,5\n");
  EXPECT_THAT(error_of(ExitCode::kData, [&] { load_both(more); }), ::testing::StartsWith("{}/b.csv:3: "));
}

TEST_F(LoadCsv, TreatsMissingValuesByPolicy) {
  write("a.csv", "x,y\n1,1\n,2\n3,NA\n5,4\n9,5\n");
  const std::string common = "target: [y]\ntask: regression\nsplit: ordered\nnum_valid: 1\nnormalize: none\nmissing: ";
  EXPECT_THAT(load_error(common + "error"), ::testing::StartsWith("{}/a.csv:3: "));
  EXPECT_THAT(values_of<float>(load(common + "drop").train.inputs), ElementsAre(1, 5));
  EXPECT_THAT(values_of<float>(load(common + "previous").train.inputs), ElementsAre(1, 1, 5)) << "no target is filled";
  EXPECT_THAT(values_of<float>(load(common + "zero").train.targets), ElementsAre(1, 2, 4));
  const Dataset by_mean = load(common + "mean");
  EXPECT_THAT(values_of<float>(by_mean.train.inputs), ElementsAre(1, 3, 5));  // (1 + 3 + 5) / 3, without the 9
  expect_golden(by_mean.notes);
}

TEST_F(LoadCsv, FillsAValidationFileByTheTrainingFilesMean) {
  write("a.csv", "x,y\n1,1\n3,2\n");
  write("b.csv", "x,y\n,1\n100,2\n");
  const Dataset data = load_both("target: [y]\ntask: regression\nnormalize: none\nmissing: mean\n");
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(2, 100));
}

// A trained model may be used with missing: mean on a file that lacks values.
TEST_F(LoadCsv, KeepsTheMeansOfTheFileWhateverThePolicy) {
  write("a.csv", "x,y\n1,10\n,30\n5,20\n9,7\n");
  for (const std::string policy : {"drop", "previous", "mean", "zero"}) {
    const auto means =
        load("target: [y]\ntask: regression\nsplit: ordered\nnum_valid: 1\nmissing: " + policy).column_means;
    EXPECT_EQ(means.at("x"), 3) << policy << ": of 1 and 5";
    EXPECT_EQ(means.at("y"), policy == "drop" ? 15 : 20) << policy;
  }
  write("a.csv", "x,y\n1,10\n3,30\n5,20\n");
  EXPECT_EQ(load("target: [y]\ntask: regression\nsplit: ordered\nnum_valid: 1").column_means.at("x"), 2);
}

TEST_F(LoadCsv, TakesNoFeatureFromTheColumnsOfAnId) {
  write("a.csv", "day,x,y\nmon,1,0\ntue,2,1\nwed,3,0\n");
  const Dataset dataset = load("target: [y]\nid: [day]\nsplit: ordered\nnum_valid: 1\nnormalize: none");
  EXPECT_THAT(values_of<float>(dataset.train.inputs), ElementsAre(1, 2));
  expect_golden(dataset.fingerprint);
  write("a.csv", "day,y\n1,0\n2,1\n3,0\n");
  const Dataset named = load("target: [y]\nfeatures: [day]\nid: [day]\nsplit: ordered\nnum_valid: 1\nnormalize: none");
  EXPECT_THAT(values_of<float>(named.train.inputs), ElementsAre(1, 2)) << "a feature that is named is one";
}

TEST_F(LoadCsv, CallsColumnsByNumberWhereThereIsNoHeader) {
  write("a.csv", "1;5;0\n2;6;1\n3;7;0\n");
  const Dataset data =
      load("target: [column3]\nheader: false\ndelimiter: ';'\nsplit: ordered\nnum_valid: 1\nnormalize: none\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 5, 2, 6));
}

TEST_F(LoadCsv, RefusesWindowsThatReachBeyondEveryNumberOfRows) {
  write_series();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  DataSettings far = settings("target: [value]\nwindow: 3\nnum_valid: 0\n");
  far.horizon = {kMost};
  expect_golden(error_of(ExitCode::kData, [&] { load_dataset(far); }));
  DataSettings many = settings("target: [value]\nwindow: 3\n");
  many.num_valid = kMost;
  expect_golden(error_of(ExitCode::kData, [&] { load_dataset(many); }));
}

// Of rows 0 .. 9, the last validates: the target of one window of 2 rows that end two rows before it.
TEST_F(LoadCsv, ForecastsASeriesByItsLastValue) {
  write_series();
  const Dataset data = load("target: [value, tens]\nwindow: 2\nhorizon: 2\nnum_valid: 1\nnormalize: none\n");
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(9, 90));
  ASSERT_EQ(data.naive_forecasts.size(), 1u);
  EXPECT_EQ(data.naive_forecasts[0].name, "last value");
  EXPECT_THAT(values_of<float>(data.naive_forecasts[0].values), ElementsAre(7, 70));
}

TEST_F(LoadCsv, ForecastsASeriesByItsLastSeason) {
  write_series();
  const Dataset data = load("target: [value]\nwindow: 2\nhorizon: 2\nseason: 3\nnum_valid: 2\nnormalize: none\n");
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(8, 9));
  ASSERT_EQ(data.naive_forecasts.size(), 2u);
  EXPECT_EQ(data.naive_forecasts[1].name, "value one season before");
  EXPECT_THAT(values_of<float>(data.naive_forecasts[1].values), ElementsAre(5, 6)) << "of the training part's rows too";
}

// The naive errors are those of the rows of the training part, whatever the horizon and the scaling are.
TEST_F(LoadCsv, HasTheNaiveErrorOfTheTrainingPart) {
  write("a.csv", "value,tens\n1,10\n4,10\n2,10\n2,10\n7,20\n3,99\n9,99\n");
  const std::string more = "target: [value, tens]\nwindow: 1\nhorizon: [1, 2]\nnum_valid: 1\n";
  EXPECT_THAT(load(more).naive_errors, ElementsAre((3 + 2 + 0 + 5) / 4.0, (3 + 2 + 0 + 5) / 4.0, 2.5, 2.5));
  EXPECT_THAT(load(more + "season: 2\n").naive_errors,
              ElementsAre((1 + 2 + 5) / 3.0, (1 + 2 + 5) / 3.0, 10 / 3.0, 10 / 3.0));
  EXPECT_THAT(load("target: [value]\nwindow: 1\nseason: 6\nnum_valid: 2\n").naive_errors,
              ElementsAre(::testing::IsNan()));
  EXPECT_THAT(load("target: [value]\nnum_valid: 1\n").naive_errors, ::testing::IsEmpty()) << "not a series";
}

TEST_F(LoadCsv, HasNaiveErrorsWithinSeriesAndOfKnownValues) {
  write("a.csv", "station,x\nnorth,1\nnorth,3\nnorth,\nnorth,4\nnorth,5\nsouth,100\nsouth,101\nsouth,101\n");
  const Dataset data =
      load("target: [x]\nfeatures: [x]\nwindow: 1\ngroup: station\nnum_valid: 0\nmissing: previous\nnormalize: none\n");
  EXPECT_THAT(data.naive_errors, ElementsAre((2 + 1 + 1 + 0) / 4.0));
}

// The row one season before the target of a long horizon is not known yet.
TEST_F(LoadCsv, GoesBackAsManySeasonsAsTheHorizonNeeds) {
  write_series();
  const Dataset data = load("target: [value]\nwindow: 1\nhorizon: 3\nseason: 2\nnum_valid: 1\nnormalize: none\n");
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(9));
  EXPECT_THAT(values_of<float>(data.naive_forecasts.at(1).values), ElementsAre(5));
}

// The rows of the training file do not limit those of a validation file.
TEST_F(LoadCsv, TakesMoreValidationWindowsThanTheTrainingFileHasRows) {
  write_series();
  std::string longer = "value,tens\n";
  for (int i = 0; i < 40; ++i) longer += fmt::format("{},{}\n", i, 10 * i);
  write("b.csv", longer);
  EXPECT_EQ(load_both("target: [value]\nwindow: 2\nnum_valid: 20\n").valid.size(), 20);
}

// Two stations take turns: north has 0 .. 5, south has 100 .. 105.
std::string stations(const std::string& more = "") {
  std::string text = "station,x\n";
  for (int i = 0; i < 6; ++i) text += fmt::format("north,{}\nsouth,{}\n", i, 100 + i);
  return text + more;
}

TEST_F(LoadCsv, CutsWindowsWithinEachSeries) {
  write("a.csv", stations());
  const Dataset data = load("target: [x]\nwindow: 2\ngroup: station\nvalid_fraction: 0.5\nnormalize: none\n");
  EXPECT_EQ(data.shape.input_size, 1) << "the station is no feature";
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(0, 1, 100, 101));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(2, 102));
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(3, 4, 5, 103, 104, 105)) << "the last half of each";
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(1, 2, 2, 3, 3, 4, 101, 102, 102, 103, 103, 104));
  EXPECT_THAT(values_of<float>(data.naive_forecasts.at(0).values), ElementsAre(2, 3, 4, 102, 103, 104));
}

TEST_F(LoadCsv, TellsOfSeriesThatAreTooShort) {
  write("a.csv", stations("east,1\n"));
  const Dataset data = load("target: [x]\nwindow: 2\ngroup: station\nvalid_fraction: 0.5\nnormalize: none\n");
  EXPECT_EQ(data.train.size(), 2);
  expect_golden(data.notes);
  EXPECT_EQ(load("target: [x]\nwindow: 4\ngroup: station\n").valid.size(), 2) << "a row of each series validates";
  expect_golden(load_error("target: [x]\nwindow: 5\ngroup: station\n"));
}

TEST_F(LoadCsv, CountsTheSamplesOfPartsInEachSeries) {
  write("a.csv", stations("east,1\neast,2\n"));
  const std::string more = "target: [x]\nwindow: 2\ngroup: station\nnum_valid: 1\nnum_test: 2\nnormalize: none\n";
  const Dataset data = load(more);
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(2, 102)) << "rows 0 to 2 of each";
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(3, 103));
  expect_golden(data.notes);
  const InferenceData test = use(more, data, DataPart::kTest, Targets::kRequired);
  EXPECT_THAT(values_of<float>(test.samples.targets), ElementsAre(4, 5, 104, 105));
  EXPECT_THAT(values_of<float>(use(more, data, DataPart::kValid, Targets::kRequired).samples.targets),
              ElementsAre(3, 103));
}

TEST_F(LoadCsv, TakesAFractionOfEachSeriesForTests) {
  write("a.csv", stations());
  const std::string more =
      "target: [x]\nwindow: 1\ngroup: station\ntest_fraction: 0.3\nvalid_fraction: 0.25\nnormalize: none\n";
  const Dataset data = load(more);
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(1, 2, 101, 102));
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(3, 103));
  const InferenceData test = use(more, data, DataPart::kTest, Targets::kRequired);
  EXPECT_THAT(values_of<float>(test.samples.targets), ElementsAre(4, 5, 104, 105));
  expect_golden(data.notes);
}

TEST_F(LoadCsv, TakesAPreviousValueFromTheSameSeries) {
  write("a.csv", stations("north,\nsouth,106\nnorth,7\nsouth,107\n"));
  const Dataset data =
      load("target: [x]\nwindow: 1\ngroup: station\nvalid_fraction: 0.3\nmissing: previous\nnormalize: none\n");
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(7, 106, 107)) << "no target is filled";
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(5, 105, 106)) << "not 105 in the first";
  write("a.csv", stations("east,\neast,1\n"));
  expect_golden(load_error("target: [x]\nwindow: 1\ngroup: station\nmissing: previous\n"));
  write("a.csv", "x\nNA\n1\n2\n");
  expect_golden(load_error("target: [x]\nwindow: 1\nmissing: previous\n"));
}

// The rows of the two series alternate. The last two rows of each validate, and have other values.
TEST_F(LoadCsv, TakesTheMeansOfSeriesFromTheirTrainingRows) {
  write("a.csv", "station,x\na,1\nb,2\na,3\nb,NA\na,5\nb,7\na,1000\nb,1000\na,1000\nb,1000\n");
  for (const std::string policy : {"previous", "mean", "zero"}) {
    const auto means =
        load("target: [x]\nwindow: 1\ngroup: station\nvalid_fraction: 0.4\nmissing: " + policy + "\n").column_means;
    EXPECT_DOUBLE_EQ(means.at("x"), (1 + 3 + 5 + 2 + 7) / 5.0) << policy;
  }
}

// South begins two rows later, so its season is not known.
TEST_F(LoadCsv, TakesNoSeasonFromAnotherSeries) {
  write("a.csv", "station,x\nn,0\nn,1\nn,2\nn,3\nn,4\nn,5\ns,100\ns,101\ns,102\ns,103\n");
  const Dataset data =
      load("target: [x]\nwindow: 1\ngroup: station\nseason: 4\nvalid_fraction: 0.5\nnormalize: none\n");
  EXPECT_EQ(data.naive_forecasts.size(), 1u);
  expect_golden(data.notes);
}

// Rows 8 and 9 validate: they are the targets of the window of rows 6 and 7.
TEST_F(LoadCsv, PredictsSeveralHorizonsTogether) {
  write_series();
  const Dataset data = load("target: [value, tens]\nwindow: 2\nhorizon: [1, 2]\nnum_valid: 1\nnormalize: none\n");
  EXPECT_EQ(data.shape.num_outputs, 4);
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(6, 60, 7, 70));
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(8, 9, 80, 90)) << "the horizons of a target together";
  EXPECT_THAT(values_of<float>(data.naive_forecasts.at(0).values), ElementsAre(7, 7, 70, 70));
  EXPECT_EQ(data.train.size(), 5) << "rows 0 to 7";
}

TEST_F(LoadCsv, ScalesEachHorizonOfATargetAlike) {
  write_series();
  const Dataset data = load("target: [tens]\nwindow: 2\nhorizon: 1..3\nnum_valid: 1\nnormalize: minmax\n");
  ASSERT_EQ(data.target_scales.size(), 3u);
  EXPECT_EQ(data.target_scales[0].name, "tens+1");
  EXPECT_EQ(data.target_scales[2].name, "tens+3");
  EXPECT_EQ(data.target_scales[0].scale, data.target_scales[2].scale);
}

// Each horizon goes back to the latest known row that is whole seasons before it.
TEST_F(LoadCsv, HasASeasonalForecastOfEachHorizon) {
  write_series();
  const Dataset data = load("target: [value]\nwindow: 2\nhorizon: [1, 3]\nseason: 2\nnum_valid: 1\nnormalize: none\n");
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(7, 9));
  EXPECT_THAT(values_of<float>(data.naive_forecasts.at(1).values), ElementsAre(5, 5));
}

TEST_F(LoadCsv, HasNoSeasonalForecastWithoutASeasonOfRows) {
  write_series();
  write("b.csv", "value,tens\n1,2\n3,4\n5,6\n");
  const Dataset data = load_both("target: [value]\nwindow: 1\nseason: 5\nnormalize: none\n");
  EXPECT_EQ(data.naive_forecasts.size(), 1u);
  expect_golden(data.notes);
}

TEST_F(LoadCsv, KeepsTheLastRowsOfASeriesForTests) {
  write_series();
  const Dataset data = load("target: [value]\nwindow: 2\nnum_valid: 1\nnum_test: 2\n");
  EXPECT_EQ(data.valid.size(), 1);
  expect_golden(data.notes);
}

// 1e9 in the test rows would change a scale that saw them.
TEST_F(LoadCsv, FitsNothingToTheTestPart) {
  write("a.csv", "x,y\n1,1\n2,2\n3,3\n4,4\n1000000000,5\n");
  const std::string more = "target: [y]\ntask: regression\nsplit: ordered\nnum_valid: 1\n";
  const Dataset with = load(more + "num_test: 1\n");
  write("a.csv", "x,y\n1,1\n2,2\n3,3\n4,4\n");
  const Dataset without = load(more);
  EXPECT_EQ(with.fingerprint, without.fingerprint);
  EXPECT_EQ(with.feature_scales[0].scale, without.feature_scales[0].scale);
  EXPECT_EQ(with.column_means, without.column_means);
}

}  // namespace
}  // namespace rnnlab
