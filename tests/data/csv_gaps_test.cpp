// SPDX-License-Identifier: Apache-2.0
// Tests the step of a series (data.frequency), and rows that are missing in time (data.gaps: fill and mask).
#include <fmt/format.h>

#include "csv_data.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;

class Gaps : public CsvData {
 protected:
  Gaps() : CsvData("features: [x]\ntarget: [x]\nwindow: 1\nnormalize: none\nnum_valid: 0\n") {}

  // Days of January; the value is that of the day.
  void write_days(const std::vector<int>& days) const {
    std::string text = "day,x\n";
    for (const int day : days) text += fmt::format("2026-01-{:02},{}\n", day, day);
    write("a.csv", text);
  }
};

constexpr const char* kFill = "time: day\ngaps: fill\nmissing: previous\n";

TEST_F(Gaps, AreFilledWithRowsWithoutATarget) {
  write_days({1, 2, 3, 4, 7, 8});
  const Dataset data = load(kFill);
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 2, 3, 4, 7)) << "4 is the row of the 6th";
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(2, 3, 4, 7, 8));
  expect_golden(data.notes);
}

TEST_F(Gaps, KeepThePlacesOfTheRowsInAWindow) {
  write_days({1, 2, 3, 4, 7, 8, 9});
  const std::string keys = "features: [x]\ntarget: [x]\nwindow: 3\nnormalize: none\nnum_valid: 0\ntime: day\n";
  EXPECT_EQ(load_dataset(table(keys + "gaps: fill\nmissing: zero\n")).train.size(), 4);
  EXPECT_THAT(values_of<float>(load_dataset(table(keys + "gaps: fill\nmissing: zero\n")).train.inputs.narrow(0, 1, 1)),
              ElementsAre(4, 0, 0));
  EXPECT_EQ(load_dataset(table(keys + "gaps: split\n")).train.size(), 1);
}

// The inputs of a row that is inserted are those of rows before it, or known without any row.
TEST_F(Gaps, AreFilledWithoutLaterValues) {
  write_days({1, 2, 3, 4, 7, 8});
  const Dataset data = load(kFill);
  write("a.csv", "day,x\n2026-01-01,1\n2026-01-02,2\n2026-01-03,3\n2026-01-04,4\n2026-01-07,700\n2026-01-08,800\n");
  const Dataset other = load(kFill);
  EXPECT_TRUE(data.train.inputs.narrow(0, 0, 4).equal(other.train.inputs.narrow(0, 0, 4)));
}

TEST_F(Gaps, MayBeSeenByTheModel) {
  write_days({1, 2, 3, 4, 7, 8});
  const std::string keys = "time: day\ngaps: mask\nmissing: previous\n";
  const Dataset data = load(keys);
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 1, 2, 1, 3, 1, 4, 0, 7, 1));
  EXPECT_EQ(data.feature_scales.back().name, "observed");
  EXPECT_EQ(use(keys, data).samples.num_features(), 2);
  expect_golden(error_of(ExitCode::kUsage, [&] { use(kFill, data); }));
  expect_golden(error_of(ExitCode::kUsage, [&] { use(keys, load(kFill)); }));
}

TEST_F(Gaps, OfOtherSeriesAreTheirOwn) {
  write("a.csv",
        "shop,day,x\na,2026-01-01,1\nb,2026-01-01,11\na,2026-01-02,2\nb,2026-01-02,12\nb,2026-01-03,13\na,2026-01-04,"
        "4\n");
  const Dataset data = load("group: shop\ntime: day\ngaps: fill\nmissing: previous\nvalid_fraction: 0.1\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 2, 11, 12));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(2, 4, 12, 13));
}

TEST_F(Gaps, AreForecastWithTheirDates) {
  write_days({1, 2, 3, 4, 7, 8});
  const Dataset data = load(kFill);
  const InferenceData used = use(std::string(kFill) + "id: [day]\n", data);
  ASSERT_EQ(used.rows.rows.size(), 9u);  // six of the file, two that are inserted, and one after the end
  EXPECT_EQ(used.rows.rows[6].number, 7);
  EXPECT_THAT(used.rows.rows[6].id, ElementsAre("2026-01-09"));
  EXPECT_EQ(used.rows.rows[7].number, 0);
  EXPECT_THAT(used.rows.rows[7].id, ElementsAre("2026-01-05"));
  EXPECT_THAT(values_of<float>(used.samples.targets.select(0, used.rows.rows[7].sample.value())), ElementsAre(IsNan()));
}

TEST_F(Gaps, HaveTheirPlaceInTheCalendar) {
  write_days({1, 2, 3, 4, 7, 8});
  const Dataset filled = load(std::string(kFill) + "calendar: [weekday]\n");
  write("a.csv",
        "day,x\n2026-01-01,1\n2026-01-02,2\n2026-01-03,3\n2026-01-04,4\n2026-01-05,\n2026-01-06,\n2026-01-07,7\n"
        "2026-01-08,8\n");
  const Dataset written = load("time: day\nmissing: previous\ncalendar: [weekday]\n");
  EXPECT_EQ(filled.fingerprint, written.fingerprint);
}

TEST_F(Gaps, HaveNoCategory) {
  write("a.csv", "day,x,w\n2026-01-01,1,a\n2026-01-02,2,b\n2026-01-04,4,a\n2026-01-05,5,b\n2026-01-06,6,b\n");
  const Dataset data = load(std::string(kFill) + "categories: [w]\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 1, 2, 0, 4, 1, 5, 2));
}

TEST_F(Gaps, AreRefusedByTheirSettings) {
  write_days({1, 2, 3});
  for (const char* keys : {"gaps: fill\n", "frequency: 1d\ngaps: ignore\n", "frequency: 1m\n"})
    expect_golden(usage_error(keys));
  expect_golden(error_of(ExitCode::kUsage, [&] { table("target: [x]\nfrequency: 1d\n"); }));
  write("a.csv", "x\n1\n2\n3\n4\n");
  expect_golden(load_error("frequency: 1d\n"));
}

TEST_F(Gaps, AreMeasuredByTheStatedStep) {
  write("a.csv", "day,x\n2026-01-01 00:00,1\n2026-01-01 02:00,2\n2026-01-01 04:00,3\n2026-01-01 06:00,4\n");
  EXPECT_EQ(load("time: day\n").train.size(), 3);
  expect_golden(load_error("time: day\nfrequency: 1h\n"));
  EXPECT_EQ(load("time: day\nfrequency: 2h\n").train.size(), 3);
  EXPECT_EQ(load("time: day\nfrequency: 1h\ngaps: fill\nmissing: previous\n").train.size(), 3);
  expect_golden(load_error("time: day\nfrequency: 1h\ngaps: split\n"));  // leaves no window
}

TEST_F(Gaps, AreNotWhereARowIsOffTheGrid) {
  write("a.csv", "day,x\n2026-01-01 00:00,1\n2026-01-01 01:00,2\n2026-01-01 02:10,3\n2026-01-01 03:00,4\n");
  expect_golden(load_error("time: day\nfrequency: 1h\n"));
  expect_golden(load_error("time: day\ngaps: fill\nmissing: previous\n"));
  EXPECT_EQ(load("time: day\nfrequency: 10min\ngaps: fill\nmissing: previous\n").train.size(), 3);
  write_days({1, 2, 2, 3});
  expect_golden(load_error("time: day\nfrequency: 1d\nduplicates: ignore\n"));
}

TEST_F(Gaps, OfMonthsAreThoseOfTheCalendar) {
  write("a.csv", "day,x\n2025-11-30,1\n2025-12-31,2\n2026-01-31,3\n2026-03-31,5\n2026-04-30,6\n");
  const Dataset data = load("time: day\nfrequency: 1mo\ngaps: fill\nmissing: previous\n");
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(values_of<float>(data.train.targets), ElementsAre(2, 3, 5, 6));
}

TEST_F(Gaps, AreNotMostOfASeries) {
  write("a.csv", "day,x\n1970-01-01,1\n2026-01-01,2\n2026-01-02,3\n");
  expect_golden(load_error("time: day\nfrequency: 1h\ngaps: fill\nmissing: previous\n"));
}

class Static : public CsvData {
 protected:
  Static() : CsvData("features: [x]\nstatic: [size]\ntarget: [x]\nwindow: 1\ngroup: shop\nvalid_fraction: 0.3\n") {}
};

TEST_F(Static, FeaturesAreInputsOfEachRowScaledOverTheSeries) {
  write("a.csv", "shop,x,size\na,1,10\na,2,10\na,3,10\na,4,10\na,5,10\nb,1,30\nb,2,30\nb,3,30\n");
  const Dataset data = load("normalize: minmax\n");
  ASSERT_EQ(data.feature_scales.size(), 2u);
  EXPECT_EQ(data.feature_scales[1].name, "size");
  EXPECT_EQ(data.feature_scales[1].offset, 10);
  EXPECT_EQ(data.feature_scales[1].scale, 20);
  const Dataset standard = load("normalize: standard\n");
  EXPECT_EQ(standard.feature_scales[1].offset, 20) << "each series counts once";
}

TEST_F(Static, FeaturesAreRefusedWhereTheyVary) {
  write("a.csv", "shop,x,size\na,1,10\na,2,10\na,3,10\nb,1,30\nb,2,31\nb,3,30\n");
  expect_golden(load_error());
  write("a.csv", "shop,x,size\na,1,10\na,2,10\na,3,10\na,3,10\nb,1,30\nb,2,\nb,3,30\nb,3,30\n");
  expect_golden(load_error());
  const Dataset data = load("missing: mean\nnormalize: none\n");
  EXPECT_EQ(data.train.inputs.select(2, 1).max().item<float>(), 30) << "the value of the series, not the mean";
}

TEST_F(Static, FeaturesNeedAGroupAndAColumnOfTheirOwn) {
  for (const char* keys : {"target: [x]\nwindow: 1\nstatic: [size]\n",
                           "target: [x]\nwindow: 1\ngroup: shop\nstatic: [size]\nknown: [size]\n",
                           "target: [x]\nwindow: 1\nknown: [size]\ncategories: [size]\n"})
    expect_golden(error_of(ExitCode::kUsage, [&] { table(keys); }));
}

// Rows after the end of a series may have the value of the series.
TEST_F(Static, FeaturesAreNotMeasured) {
  write("a.csv", "shop,x,size,p\na,1,10,1\na,2,10,2\na,3,10,3\na,,10,4\nb,1,30,1\nb,2,30,2\nb,3,30,3\nb,,,4\n");
  const Dataset data = load("known: [p]\nnormalize: none\n");
  EXPECT_EQ(use("known: [p]\nnormalize: none\n", data).samples.size(), 6);
}

}  // namespace
}  // namespace rnnlab
