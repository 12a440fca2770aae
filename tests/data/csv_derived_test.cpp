// SPDX-License-Identifier: Apache-2.0
// Tests inputs that are made of other columns: data.known and data.calendar of a CSV file.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "csv_data.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class Known : public CsvData {
 protected:
  Known() : CsvData("target: [y]\nfeatures: [y]\nknown: [p]\nwindow: 2\nnormalize: none\nnum_valid: 0\n") {}

  // Two more rows say what p is after the end of the series.
  void write_with_future() const { write("a.csv", "t,y,p\n1,10,1\n2,20,2\n3,30,3\n4,40,4\n5,50,5\n6,,6\n7,,7\n"); }
};

TEST_F(Known, ValuesOfTheRowsThatAreForecastAreInputs) {
  write("a.csv", "y,p\n10,1\n20,2\n30,3\n40,4\n50,5\n");
  const Dataset data = load("horizon: [1, 2]\n");
  EXPECT_THAT(values_of<float>(data.train.inputs),
              ElementsAre(10, 1, 2, 3, 20, 2, 3, 4,    // y, p, p one row and two rows later
                          20, 2, 3, 4, 30, 3, 4, 5));  // the window after it
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(30, 40, 40, 50));
  std::vector<std::string> names;
  for (const ColumnScale& scale : data.feature_scales) names.push_back(scale.name);
  EXPECT_THAT(names, ElementsAre("y", "p", "p+1", "p+2"));
}

TEST_F(Known, ValuesAreScaledAsTheirColumnIs) {
  write("a.csv", "y,p\n10,0\n20,2\n30,4\n40,8\n50,16\n");
  const Dataset data =
      load_dataset(table("target: [y]\nfeatures: [y]\nknown: [p]\nwindow: 2\nhorizon: 2\nnormalize: minmax\nnum_train: "
                         "1\nnum_valid: 1\n"));
  ASSERT_EQ(data.feature_scales.size(), 3u);
  EXPECT_EQ(data.feature_scales[1].scale, 8);  // the training part has the first four rows
  EXPECT_EQ(data.feature_scales[2].scale, 8);
  EXPECT_EQ(data.feature_scales[2].offset, 0);
}

TEST_F(Known, RowsAfterTheEndAreNoRowsOfTheSeries) {
  write_with_future();
  const Dataset with = load();
  write("a.csv", "t,y,p\n1,10,1\n2,20,2\n3,30,3\n4,40,4\n5,50,5\n");
  const Dataset without = load();
  EXPECT_EQ(with.fingerprint, without.fingerprint);
  expect_golden(with.notes);
}

TEST_F(Known, RowsAfterTheEndAreForecast) {
  write_with_future();
  const Dataset data = load();
  const InferenceData used = use("id: [t]\n", data);
  ASSERT_EQ(used.samples.size(), 4);
  EXPECT_THAT(values_of<float>(used.samples.inputs.narrow(0, 3, 1)), ElementsAre(40, 4, 5, 50, 5, 6));
  EXPECT_THAT(used.rows.rows.at(5).id, ElementsAre("6"));
  EXPECT_EQ(used.rows.rows.at(5).sample, 3);
  expect_golden(used.rows.rows.at(6).reason);
}

TEST_F(Known, WindowsAreLeftOutWhereTheFileEndsBeforeTheirForecast) {
  write_with_future();
  const Dataset data = load("horizon: [1, 3]\n");
  const InferenceData used = use("horizon: [1, 3]\n", data);
  EXPECT_EQ(used.samples.size(), 3);  // the last one forecasts the rows 5 and 7
  EXPECT_THAT(used.notes, Not(IsEmpty()));
  expect_golden(used.notes);
  expect_golden(used.rows.rows.at(5).reason);
}

TEST_F(Known, FilesWithoutAnyForecastAreRefused) {
  write_with_future();
  const Dataset data = load();
  write("a.csv", "t,y,p\n1,10,1\n2,20,2\n");
  expect_golden(error_of(ExitCode::kData, [&] { use("", data); }));
}

TEST_F(Known, RowsAfterAGapAreNotForecast) {
  const std::string rows = "t,y,p\n2024-01-01,1,1\n2024-01-02,2,2\n2024-01-03,3,3\n2024-01-04,4,4\n";
  write("a.csv", rows);
  const Dataset data = load("gaps: split\n");
  write("a.csv", rows + "2024-01-05,,5\n2024-01-08,,8\n");
  EXPECT_EQ(use("gaps: split\n", data).samples.size(), 3);  // the last one is for the 5th
  write("a.csv", rows + "2024-01-08,,8\n");
  const InferenceData used = use("gaps: split\n", data);
  EXPECT_EQ(used.samples.size(), 2);
  expect_golden(used.rows.rows.at(4).reason);
}

TEST_F(Known, EachSeriesEndsForItself) {
  write("a.csv", "s,y,p\na,1,1\na,2,2\na,3,3\nb,4,4\nb,5,5\nb,6,6\nb,,7\na,,9\n");
  const Dataset data = load("group: s\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 1, 2, 2, 2, 3, 4, 4, 5, 5, 5, 6));
  const InferenceData used = use("group: s\n", data);
  EXPECT_THAT(values_of<float>(used.samples.inputs.narrow(0, 1, 1)), ElementsAre(2, 2, 3, 3, 3, 9));
  EXPECT_THAT(values_of<float>(used.samples.inputs.narrow(0, 3, 1)), ElementsAre(5, 5, 6, 6, 6, 7));
}

TEST_F(Known, SeriesWithoutRowsOfTheirOwnAreLeftOut) {
  write("a.csv", "s,y,p\na,1,1\na,2,2\na,3,3\nb,,7\nb,,8\nb,,9\n");
  const Dataset data = load("group: s\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 1, 2, 2, 2, 3));
  const InferenceData used = use("group: s\n", data);
  EXPECT_EQ(used.samples.size(), 1);
  EXPECT_EQ(used.rows.rows.size(), 6u);
}

TEST_F(Known, ColumnsAreNotTheTimesOfTheRows) {
  write("a.csv", "y,p\n10,2020\n20,2020\n30,2021\n40,2022\n");
  EXPECT_EQ(load().time, "");
}

TEST_F(Known, MissingValuesWithoutAMeanAreRefused) {
  write("a.csv", "y,p\n10,\n20,\n30,\n40,\n");
  const Dataset data = load("missing: zero\n");
  write("a.csv", "y,p\n10,1\n20,2\n30,3\n,\n");
  expect_golden(error_of(ExitCode::kData, [&] { use("missing: mean\n", data); }));
}

TEST_F(Known, MissingValuesAreRefusedOrFilled) {
  write("a.csv", "y,p\n10,1\n20,\n30,3\n40,4\n,\n");
  expect_golden(load_error());
  write("a.csv", "y,p\n10,1\n20,2\n30,3\n,4\n,\n,6\n");
  expect_golden(load_error());
  const Dataset data = load("missing: previous\n");
  const InferenceData used = use("missing: previous\n", data);
  EXPECT_THAT(values_of<float>(used.samples.inputs.narrow(0, 1, 1)), ElementsAre(20, 2, 3, 30, 3, 4));
}

TEST_F(Known, AnotherInputAfterTheEndIsNamed) {
  write("a.csv", "y,q,p\n10,1,1\n20,2,2\n30,3,3\n,4,4\n");
  expect_golden(error_of(ExitCode::kData, [&] {
    load_dataset(table("target: [y]\nfeatures: [y, q]\nknown: [p]\nwindow: 2\nnum_valid: 0\n"));
  }));
}

TEST_F(Known, MissingTargetsBeforeTheEndAreRefused) {
  write("a.csv", "y,q,p\n10,1,1\n20,2,2\n,3,3\n40,4,4\n,,5\n");
  expect_golden(error_of(ExitCode::kData, [&] {
    load_dataset(table("target: [y]\nfeatures: [q]\nknown: [p]\nwindow: 2\nnum_valid: 0\n"));
  }));
}

// What is not known ahead has no part in the inputs of a forecast: other values there leave every bit as it is.
TEST_F(Known, NothingElseOfTheForecastRowsIsRead) {
  write("a.csv", "y,p\n10,1\n20,2\n30,3\n40,4\n50,5\n60,6\n");
  const Dataset data = load("horizon: 3\n");
  const at::Tensor inputs = use("horizon: 3\n", data, DataPart::kAll, Targets::kRequired).samples.inputs;
  write("a.csv", "y,p\n10,1\n20,2\n-7,3\n-8,4\n-9,5\n-9,6\n");
  const at::Tensor others = use("horizon: 3\n", data, DataPart::kAll, Targets::kRequired).samples.inputs;
  EXPECT_TRUE(at::equal(inputs[0], others[0]));
  EXPECT_FALSE(at::equal(inputs[1], others[1]));
}

TEST_F(Known, ColumnsThatCannotBeAreRefused) {
  expect_golden(usage_error("target_per: step\n"));
  for (const char* keys : {"known: [y]\n", "known: [p]\ncategories: [p]\n", "known: [p, p]\n"})
    expect_golden(error_of(ExitCode::kUsage, [&] { table(fmt::format("target: [y]\nwindow: 2\n{}", keys)); }));
  write("a.csv", "y,p,p+1\n10,1,1\n20,2,2\n30,3,3\n40,4,4\n");
  expect_golden(
      error_of(ExitCode::kData, [&] { load_dataset(table("target: [y]\nknown: [p]\nwindow: 2\nnum_valid: 0\n")); }));
}

class Calendar : public CsvData {
 protected:
  Calendar() : CsvData("target: [y]\nfeatures: [y]\nwindow: 1\nnormalize: none\nnum_valid: 0\n") {}
};

TEST_F(Calendar, PhasesAreASineAndACosine) {
  write("a.csv", "time,y\n2024-01-01 00:00,1\n2024-01-01 06:00,2\n2024-01-01 12:00,3\n");
  const Dataset data = load("calendar: [hour, weekday]\n");
  ASSERT_EQ(data.shape.input_size, 5);
  const auto values = values_of<float>(data.train.inputs);
  EXPECT_THAT(values, ElementsAre(1, 0, 1, 0, 1, 2, 1, ::testing::FloatNear(0, 1e-6f), 0, 1));  // a Monday
}

TEST_F(Calendar, EveryPhaseBeginsAtZero) {
  write("a.csv", "time,y\n2024-01-01 00:00,1\n2024-07-16 12:30,2\n2024-07-17 12:30,3\n");
  const Dataset data = load("calendar: [minute, hour, weekday, day, month]\ngaps: ignore\n");
  const auto values = values_of<float>(data.train.inputs);
  ASSERT_EQ(values.size(), 2u * 11u);
  for (size_t i = 1; i < 11; i += 2) {
    EXPECT_EQ(values[i], 0);
    EXPECT_EQ(values[i + 1], 1);
  }
  const double phases[] = {30 / 60., 12 / 24., 1 / 7., 15 / 31., 6 / 12.};  // a Tuesday, the 16th of July
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_FLOAT_EQ(values[12 + 2 * i] + 2, static_cast<float>(std::sin(2 * std::numbers::pi * phases[i]) + 2));
    EXPECT_FLOAT_EQ(values[13 + 2 * i] + 2, static_cast<float>(std::cos(2 * std::numbers::pi * phases[i]) + 2));
  }
}

// Within a year, the first days of the months are also the first days of January.
TEST_F(Calendar, OtherFilesHaveTheOrderOfDayAndMonthOfTraining) {
  const std::string keys = "calendar: [month]\ngaps: ignore\n";
  write("a.csv", "day,y\n01/11/2015,1\n01/12/2015,2\n01/01/2016,3\n01/02/2016,4\n15/02/2016,5\n");
  const Dataset data = load(keys);
  EXPECT_EQ(data.is_day_first, true);
  write("a.csv", "day,y\n01/01/2017,1\n02/01/2017,2\n03/01/2017,3\n");
  const auto values = values_of<float>(use(keys, data).samples.inputs);
  EXPECT_THAT(values, ElementsAre(1, 0, 1, 2, 0, 1, 3, 0, 1));  // all in January
}

TEST_F(Calendar, NeedsTimes) {
  write("a.csv", "x,y\n1,1\n2,2\n3,3\n");
  expect_golden(load_error("calendar: [hour]\n"));
  expect_golden(usage_error("calendar: [hours]\n"));
  expect_golden(usage_error("calendar: [hour, hour]\n"));
  expect_golden(error_of(ExitCode::kUsage, [&] { table("target: [y]\ncalendar: [hour]\n"); }));
}

// y is the day of the week, from 0 on Mondays, so that a target tells the phase of its row.
class CalendarAheadTest : public CsvData {
 protected:
  CalendarAheadTest()
      : CsvData(
            "target: [y]\nfeatures: [y]\nwindow: 2\nhorizon: [1, 2, 4]\nnormalize: none\nnum_valid: 0\n"
            "calendar: [weekday]\n") {}

  static std::string ahead(const std::string& more = "") { return "calendar_ahead: true\n" + more; }
  static float sine(double weekday) { return static_cast<float>(std::sin(2 * std::numbers::pi * weekday / 7)); }

  // Returns the sines of a sample's horizons.
  static std::vector<float> sines_of(const DataShape& shape, const at::Tensor& sample) {
    std::vector<float> sines;
    for (const auto& [step, number] : shape.calendar_ahead.places) sines.push_back(sample[step][number].item<float>());
    return sines;
  }
};

TEST_F(CalendarAheadTest, EachHorizonHasThePhasesOfItsRow) {
  write("a.csv",
        "day,y\n2024-01-01,0\n2024-01-02,1\n2024-01-03,2\n2024-01-05,4\n2024-01-06,5\n2024-01-09,1\n2024-01-10,2\n");
  const Dataset data = load(ahead("gaps: ignore\n"));
  ASSERT_EQ(data.train.size(), 2);
  const at::Tensor targets = data.train.targets;
  for (int64_t sample = 0; sample < 2; ++sample) {
    const std::vector<float> sines = sines_of(data.shape, data.train.inputs[sample]);
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(sines[static_cast<size_t>(i)], sine(targets[sample][i].item<float>()));
  }
  std::vector<std::string> names;
  for (const ColumnScale& scale : data.feature_scales) names.push_back(scale.name);
  EXPECT_THAT(names, ElementsAre("y", "sin(weekday)+4", "cos(weekday)+4", "sin(weekday)+2", "cos(weekday)+2",
                                 "sin(weekday)", "cos(weekday)"));
  EXPECT_EQ(data.shape.numbers_ahead(), 4);
  EXPECT_EQ(load("gaps: ignore\n").shape.input_size, 3);
}

TEST_F(CalendarAheadTest, RowsAfterTheEndFollowByTheStep) {
  write("a.csv", "day,y\n2024-01-01,0\n2024-01-02,1\n2024-01-03,2\n2024-01-04,3\n2024-01-05,4\n2024-01-06,5\n");
  const Dataset data = load(ahead());
  const InferenceData used = use(ahead(), data);
  ASSERT_EQ(used.samples.size(), 5);
  EXPECT_THAT(sines_of(data.shape, used.samples.inputs[4]), ElementsAre(sine(6), sine(0), sine(2)));
}

TEST_F(CalendarAheadTest, RowsWithKnownValuesHaveTheDatesOfTheFile) {
  const std::string rows =
      "day,y,p\n2024-01-01,0,1\n2024-01-02,1,1\n2024-01-03,2,1\n2024-01-04,3,1\n"
      "2024-01-05,4,1\n2024-01-06,5,1\n";
  write("a.csv", rows);
  const std::string keys = "known: [p]\ngaps: ignore\n";
  const Dataset data = load(ahead(keys));
  write("a.csv", rows + "2024-01-07,,1\n2024-01-09,,1\n2024-01-10,,1\n2024-01-12,,1\n");
  const InferenceData used = use(ahead(keys), data);
  ASSERT_EQ(used.samples.size(), 5);
  EXPECT_THAT(sines_of(data.shape, used.samples.inputs[4]), ElementsAre(sine(6), sine(1), sine(4)));
}

TEST_F(CalendarAheadTest, WithoutAUsualStepNothingIsForecastAfterTheEnd) {
  const std::string rows =
      "day,y\n2024-01-01,0\n2024-01-02,1\n2024-01-04,3\n2024-01-08,0\n2024-01-11,3\n"
      "2024-01-12,4\n2024-01-20,5\n";
  write("a.csv", rows);
  const Dataset data = load(ahead("gaps: ignore\n"));
  const InferenceData used = use(ahead("gaps: ignore\n"), data);
  EXPECT_EQ(used.samples.size(), 2) << "those whose targets are in the file";
  expect_golden(used.notes);
  expect_golden(used.rows.rows.at(5).reason);
  write("a.csv", rows.substr(0, rows.find("2024-01-08")));
  expect_golden(error_of(ExitCode::kData, [&] { use(ahead("gaps: ignore\n"), data); }));
}

// What is not known ahead has no part in the inputs of a forecast: other values there leave every bit as it is.
TEST_F(CalendarAheadTest, OnlyTheDatesOfTheForecastRowsAreRead) {
  const auto inputs = [&](const std::string& later) {
    write("a.csv", "day,y\n2024-01-01,0\n2024-01-02,1\n" + later);
    return use(ahead(), load(ahead()), DataPart::kAll, Targets::kRequired).samples.inputs[0].clone();
  };
  const at::Tensor before = inputs("2024-01-03,2\n2024-01-04,3\n2024-01-05,4\n2024-01-06,5\n");
  EXPECT_TRUE(at::equal(before, inputs("2024-01-03,7\n2024-01-04,8\n2024-01-05,9\n2024-01-06,9\n")));
}

TEST_F(CalendarAheadTest, NeedsACalendarAndAForecast) {
  expect_golden(error_of(ExitCode::kUsage, [&] { table("target: [y]\nwindow: 2\ncalendar_ahead: true\n"); }));
  expect_golden(error_of(ExitCode::kUsage, [&] {
    table("target: [y]\ntarget_per: step\ngroup: g\ncalendar: [hour]\ncalendar_ahead: true\n");
  }));
}

// The key is set where it has an effect.
TEST(ChooseCalendar, IsForWhatCanReadIt) {
  const auto chosen = [](const std::string& more, bool can_read_ahead) {
    DataSettings settings = parse_settings("source: csv\npath: a.csv\ntarget: [y]\nwindow: 2\n" + more);
    choose_calendar(settings, can_read_ahead);
    return settings.calendar_ahead;
  };
  const std::string several = "horizon: [1, 2]\ncalendar: [hour]\n";
  EXPECT_EQ(chosen(several, true), true);
  EXPECT_EQ(chosen(several + "calendar_ahead: false\n", true), false);
  EXPECT_EQ(chosen(several, false), std::nullopt);
  EXPECT_EQ(chosen("horizon: [1, 2]\n", true), std::nullopt);
  EXPECT_EQ(chosen("calendar: [hour]\n", true), std::nullopt) << "one horizon";
  DataSettings before =
      parse_settings("source: csv\npath: a.csv\ntarget: [y]\nwindow: 2\nhorizon: [1, 2]\ncalendar: [hour]\n");
  choose_split_of_earlier_versions(before);
  choose_calendar(before, true);
  EXPECT_EQ(before.calendar_ahead, false) << "a version that did not know it";
}

}  // namespace
}  // namespace rnnlab
