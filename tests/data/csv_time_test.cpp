// SPDX-License-Identifier: Apache-2.0
// Tests the order of the rows of a CSV file in time: data.time, unsorted, duplicates and gaps.
#include <fmt/format.h>

#include "csv_data.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CsvTime : public CsvData {
 protected:
  CsvTime() : CsvData("features: [x]\ntarget: [x]\nwindow: 1\nnum_valid: 1\nnormalize: none\n") {}

  // Writes days of January 2026 with x = the day, in this order.
  void write_days(const std::vector<int64_t>& days) const {
    std::string text = "date,x\n";
    for (const int64_t day : days) text += fmt::format("2026-01-{:02},{}\n", day, day);
    write("a.csv", text);
  }

  InferenceData rows_of_whole_file(const std::string& more) const { return use(more, load(more)); }
};

TEST_F(CsvTime, IsRefusedWhereTheNewestRowsAreFirst) {
  write_days({9, 8, 7, 6, 5});
  expect_golden(load_error());
  EXPECT_THAT(load_error("id: [date]\n"), HasSubstr("data.unsorted: sort"));
  EXPECT_THAT(load_error("time: date\n"), HasSubstr("data.unsorted: sort"));
}

TEST_F(CsvTime, IsSortedOrIgnored) {
  write_days({9, 8, 7, 6, 5});
  const Dataset sorted = load("unsorted: sort\n");
  EXPECT_THAT(values_of<float>(sorted.train.inputs), ElementsAre(5, 6, 7));
  EXPECT_THAT(values_of<float>(sorted.valid.targets), ElementsAre(9));
  expect_golden(sorted.notes);
  EXPECT_THAT(values_of<float>(load("unsorted: ignore\n").train.inputs), ElementsAre(9, 8, 7));
}

TEST_F(CsvTime, KeepsThePredictionsOfSortedRowsAtTheirRows) {
  write_days({9, 5, 7, 6, 8});
  const InferenceData data = rows_of_whole_file("unsorted: sort\nid: [date]\n");
  ASSERT_EQ(data.rows.rows.size(), 6u);
  EXPECT_EQ(data.rows.rows[0].id.at(0), "2026-01-09");
  const auto input_of = [&](size_t row) {
    return data.samples.inputs[data.rows.rows[row].sample.value()].item<float>();
  };
  EXPECT_EQ(input_of(0), 8) << "the day before the 9th";
  EXPECT_FALSE(data.rows.rows[1].sample) << "nothing is before the 5th";
  EXPECT_EQ(input_of(2), 6);
  EXPECT_EQ(data.rows.rows[5].number, 6) << "the forecast after the last day";
  EXPECT_EQ(input_of(5), 9);
}

TEST_F(CsvTime, SortsEachSeries) {
  write("a.csv",
        "station,date,x\nn,2026-01-02,2\ns,2026-01-01,11\nn,2026-01-01,1\ns,2026-01-02,12\nn,2026-01-03,3\n"
        "s,2026-01-03,13\n");
  const std::string grouped =
      "features: [x]\ntarget: [x]\nwindow: 1\ngroup: station\nvalid_fraction: 0.3\nnormalize: none\n";
  expect_golden(error_of(ExitCode::kData, [&] { load_dataset(table(grouped)); }));
  const Dataset data = load_dataset(table(grouped + "unsorted: sort\n"));
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 11));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(2, 12));
}

// The forecast after the end of the first series is not for the first row of the second.
TEST_F(CsvTime, OfSeriesInOrderHasForecastsAfterEachSeries) {
  std::string text = "station,x\n";
  for (const char* station : {"n", "s"})
    for (int i = 0; i < 6; ++i) text += fmt::format("{},{}\n", station, i);
  write("a.csv", text);
  const DataSettings wanted = table(
      "features: [x]\ntarget: [x]\nwindow: 1\nhorizon: [1, 2]\ngroup: station\nid: [station]\nvalid_fraction: 0.34\n"
      "normalize: none\n");
  const FileRows rows = load_for_inference(wanted, load_dataset(wanted), DataPart::kAll, Targets::kIfPresent).rows;
  ASSERT_EQ(rows.rows.size(), 14u);
  EXPECT_FALSE(rows.rows[6].sample);
  EXPECT_EQ(rows.rows[12].number, 0);
  EXPECT_THAT(rows.rows[12].id, ElementsAre("n"));
  EXPECT_THAT(rows.rows[13].id, ElementsAre("s"));
  EXPECT_EQ(rows.forecasts.at(rows.rows[2].forecasts.at(1)).number, 4);
  EXPECT_EQ(rows.forecasts.at(rows.rows[5].forecasts.at(1)).number, 0);
}

TEST_F(CsvTime, OfForecastsAfterTheEndFollowsTheUsualStep) {
  write("a.csv", "date,x\n2026-01-28,1\n2026-01-29,2\n2026-01-30,3\n2026-01-31,4\n");
  const DataSettings wanted =
      table("features: [x]\ntarget: [x]\nwindow: 1\nhorizon: [1, 3]\nid: [date]\nnum_valid: 0\n");
  const FileRows rows = load_for_inference(wanted, load_dataset(wanted), DataPart::kAll, Targets::kIfPresent).rows;
  EXPECT_EQ(rows.time_name, "date");
  ASSERT_EQ(rows.rows.size(), 5u);
  EXPECT_THAT(rows.rows[4].id, ElementsAre("2026-02-01"));
  EXPECT_EQ(rows.rows[4].number, 5);
  std::vector<std::string> times;
  for (const size_t place : rows.rows[4].forecasts) times.push_back(rows.forecasts.at(place).time);
  EXPECT_THAT(times, ElementsAre("2026-02-01", "2026-02-03"));
}

// Each series has its own last day and its own step.
TEST_F(CsvTime, OfForecastsAfterTheEndIsThatOfTheirSeries) {
  write("a.csv",
        "station,date,x\nn,2026-01-01,1\ns,2026-03-01,1\nn,2026-01-02,2\ns,2026-03-08,2\nn,2026-01-03,3\n"
        "s,2026-03-15,3\n");
  const DataSettings wanted =
      table("features: [x]\ntarget: [x]\nwindow: 1\ngroup: station\nid: [station, date]\nnum_valid: 0\n");
  const FileRows rows = load_for_inference(wanted, load_dataset(wanted), DataPart::kAll, Targets::kIfPresent).rows;
  ASSERT_EQ(rows.rows.size(), 8u);
  EXPECT_THAT(rows.rows[6].id, ElementsAre("n", "2026-01-04"));
  EXPECT_THAT(rows.rows[7].id, ElementsAre("s", "2026-03-22"));
}

TEST_F(CsvTime, OfForecastsAfterTheEndIsUnknownWithoutAStep) {
  write("a.csv", "date,x\n2026-01-01,1\n2026-01-02,2\n2026-01-09,3\n2026-02-28,4\n");
  const DataSettings wanted = table("features: [x]\ntarget: [x]\nwindow: 1\nid: [date]\nnum_valid: 0\ngaps: ignore\n");
  const FileRows rows = load_for_inference(wanted, load_dataset(wanted), DataPart::kAll, Targets::kIfPresent).rows;
  EXPECT_THAT(rows.rows.at(4).id, ElementsAre(""));
}

TEST_F(CsvTime, IsRefusedWhereItRepeats) {
  write_days({1, 2, 2, 3, 4});
  expect_golden(load_error());
  write("a.csv", "date,x\n2026-01-01,1\n2026-01-02,2\n2026-01-02,20\n2026-01-03,3\n2026-01-04,4\n");
  EXPECT_THAT(values_of<float>(load("duplicates: first\n").train.inputs), ElementsAre(1, 2));
  EXPECT_THAT(values_of<float>(load("duplicates: last\n").train.inputs), ElementsAre(1, 20));
  EXPECT_THAT(values_of<float>(load("duplicates: ignore\n").train.inputs), ElementsAre(1, 2, 20));
  const InferenceData rows = rows_of_whole_file("duplicates: first\n");
  expect_golden(rows.rows.rows.at(2).reason);
  EXPECT_EQ(rows.samples.inputs[rows.rows.rows.at(3).sample.value()].item<float>(), 2);
}

TEST_F(CsvTime, LeavesOutRowsWhoseMissingValuesDoNotCount) {
  const auto notes = [&](const std::string& which, const std::string& policy) {
    return load_dataset(table(fmt::format("features: [x]\ntarget: [y]\nwindow: 1\nnum_valid: 1\ntask: regression\n"
                                          "duplicates: {}\nmissing: {}\n",
                                          which, policy)))
        .notes;
  };
  write("a.csv", "date,x,y\n2026-01-01,1,1\n2026-01-02,2,2\n2026-01-02,,2\n2026-01-03,3,3\n2026-01-04,4,4\n");
  for (const std::string policy : {"zero", "mean", "previous"}) {
    const auto note = HasSubstr("missing: " + policy);
    EXPECT_THAT(notes("first", policy), ::testing::Not(Contains(note)));
    EXPECT_THAT(notes("last", policy), Contains(note));
  }
}

TEST_F(CsvTime, IsRefusedWhereItHasGaps) {
  write_days({1, 2, 3, 9, 10, 11, 12});
  expect_golden(load_error());
}

TEST_F(CsvTime, LetsNoWindowCrossAGap) {
  write_days({1, 2, 3, 9, 10, 11, 12});
  const Dataset data = load("gaps: split\nhorizon: 2\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 9));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(3, 11));
  EXPECT_THAT(values_of<float>(data.valid.inputs), ElementsAre(10));
  expect_golden(data.notes);
  EXPECT_EQ(load("gaps: ignore\nhorizon: 2\n").train.size(), 4);
  const InferenceData rows = rows_of_whole_file("gaps: split\n");
  expect_golden(rows.rows.rows.at(3).reason);
  EXPECT_EQ(rows.rows.rows.size(), 8u) << "one forecast after the end";
}

// Row 2 is before the gap, but the second target of its window is not.
TEST_F(CsvTime, NamesTheGapBeforeALaterTarget) {
  write_days({1, 2, 3, 9, 10, 11, 12, 13, 14});
  const InferenceData rows = rows_of_whole_file("gaps: split\nhorizon: [1, 2]\n");
  EXPECT_TRUE(rows.rows.rows.at(1).sample);
  expect_golden(rows.rows.rows.at(2).reason);
  expect_golden(rows.rows.rows.at(3).reason);
  EXPECT_TRUE(rows.rows.rows.at(4).sample);
}

// Rows 7 to 10 validate, and row 5, two rows before the first of them, is before the gap.
TEST_F(CsvTime, LeavesTheSeasonBeforeAGapOut) {
  write_days({1, 2, 3, 4, 5, 6, 12, 13, 14, 15, 16});
  const Dataset data = load_dataset(
      table("features: [x]\ntarget: [x]\nwindow: 1\nnum_valid: 4\nnormalize: none\ngaps: split\nseason: 2\n"));
  ASSERT_EQ(data.naive_forecasts.size(), 2u);
  EXPECT_THAT(values_of<float>(data.naive_forecasts[1].values), ElementsAre(::testing::IsNan(), 12, 13, 14));
  expect_golden(data.notes);
  write_days({1, 2, 3, 4, 5, 6, 12, 13});
  const Dataset none = load("gaps: split\nseason: 2\n");
  EXPECT_EQ(none.naive_forecasts.size(), 1u);
  expect_golden(none.notes);
}

TEST_F(CsvTime, CarriesNoValueOverAGap) {
  write("a.csv", "date,x\n2026-01-01,1\n2026-01-02,\n2026-01-03,3\n2026-01-09,\n2026-01-10,5\n2026-01-11,6\n");
  expect_golden(load_error("gaps: split\nmissing: previous\n"));
  EXPECT_EQ(load_error("gaps: ignore\nmissing: previous\n"), "no error");
  write("a.csv",
        "date,x,y\n2026-01-01,1,1\n2026-01-02,2,2\n2026-01-03,3,3\n2026-01-09,4,\n2026-01-10,5,5\n2026-01-11,6,6\n");
  const Dataset data = load_dataset(
      table("features: [x]\ntarget: [y]\nwindow: 1\nnum_valid: 2\nnormalize: none\ngaps: split\nmissing: drop\n"
            "task: regression\n"));
  EXPECT_THAT(values_of<float>(data.valid.targets), ElementsAre(5, 6));
  EXPECT_THAT(values_of<float>(data.naive_forecasts.at(0).values), ElementsAre(::testing::IsNan(), 5));
}

TEST_F(CsvTime, CutsSequencesAtGaps) {
  std::string text = "date,x,y\n";
  for (const int64_t day : {1, 2, 3, 9, 10, 11, 12}) text += fmt::format("2026-01-{0:02},{0},{0}\n", day);
  write("a.csv", text);
  const Dataset data = load_dataset(table(
      "features: [x]\ntarget: [y]\ntarget_per: step\ntask: regression\nwindow: 10\nnum_valid: 0\nnormalize: none\n"
      "gaps: split\n"));
  EXPECT_EQ(data.train.size(), 2);
  EXPECT_THAT(values_of<int64_t>(data.train.lengths), ElementsAre(3, 4));
}

TEST_F(CsvTime, RefusesWhatIsNotATime) {
  write("a.csv", "date,x\n2026-01-01,1\n2026-01-02,2\n2026-01-03,3\nlater,4\n");
  expect_golden(load_error());
  EXPECT_THAT(load_error("time: date\n"), ::testing::Not(HasSubstr("data.time")));
  EXPECT_EQ(load("unsorted: ignore\nduplicates: ignore\ngaps: ignore\n").train.size(), 2);
}

TEST_F(CsvTime, IsExaminedForRunsOfEarlierVersionsOnlyIfASettingNeedsIt) {
  write_days({1, 2, 3, 4, 5});
  Dataset trained = load();
  EXPECT_EQ(trained.time, "date");
  write_days({5, 4, 3, 2, 1});
  const auto first_input = [&](const std::string& more) {
    return use(more, trained).samples.inputs.select(0, 0).item<float>();
  };
  const auto error_with = [&](const std::string& more) {
    return error_of(ExitCode::kData, [&] { use(more, trained); });
  };
  EXPECT_THAT(error_with(""), HasSubstr("data.unsorted: sort"));
  trained.time = std::nullopt;
  EXPECT_EQ(first_input(""), 5);
  EXPECT_EQ(first_input("unsorted: sort\n"), 1);
  EXPECT_EQ(first_input("unsorted: ignore\n"), 5);
  EXPECT_THAT(error_with("time: date\n"), HasSubstr("data.unsorted: sort"));
}

TEST_F(CsvTime, MayHaveAnotherColumnInAnotherFile) {
  write_days({1, 2, 3, 4, 5});
  const Dataset trained = load();
  write("a.csv", "day,x\n2026-01-02,2\n2026-01-01,1\n2026-01-03,3\n");
  const InferenceData data = use("time: day\nunsorted: sort\n", trained);
  EXPECT_THAT(values_of<float>(data.samples.inputs), ElementsAre(1, 2, 3));
}

TEST_F(CsvTime, IsNeededBySomeSettings) {
  write("a.csv", "x\n1\n2\n3\n4\n5\n");
  for (const std::string setting : {"gaps: split", "unsorted: sort", "duplicates: first", "duplicates: last"})
    expect_golden(load_error(setting + "\n"));
  EXPECT_EQ(load_error("gaps: ignore\nunsorted: ignore\nduplicates: ignore\n"), "no error");
  EXPECT_EQ(load_error(), "no error");
}

TEST_F(CsvTime, MayBeMissingFromAnotherFile) {
  write_days({1, 2, 3, 4, 5});
  const Dataset trained = load();
  write("a.csv", "x\n1\n2\n3\n");
  expect_golden(use("", trained).notes);
  expect_golden(error_of(ExitCode::kData, [&] { use("gaps: split\n", trained); }));
}

TEST_F(CsvTime, HasKeysForSeriesOnly) {
  for (const char* more :
       {"time: date\n", "gaps: split\n", "duplicates: last\n", "unsorted: sort\n", "window: 2\ntime: y\n"})
    expect_golden(error_of(ExitCode::kUsage, [&] { table(std::string("target: [y]\n") + more); }));
}

}  // namespace
}  // namespace rnnlab
