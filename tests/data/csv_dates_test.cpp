// SPDX-License-Identifier: Apache-2.0
// Tests the dates of rows after the end of series.
#include "data/csv_dates.h"

#include <fmt/format.h>

#include "csv_data.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

class Dates : public CsvData {
 protected:
  Dates()
      : CsvData("features: [x]\ntarget: [x]\nwindow: 1\nnormalize: none\nnum_valid: 0\nhorizon: 1..3\ntime: day\n") {}

  // Returns the dates of the rows after the end of the last series of the file.
  std::vector<std::string> dates_after_end(const std::string& keys = "") {
    const FileRows rows = use(keys, load(keys)).rows;
    std::vector<std::string> dates;
    for (const size_t place : rows.rows.back().forecasts) dates.push_back(rows.forecasts[place].time);
    return dates;
  }
};

// The rows of one day are one date, which alone does not tell the day from the month.
TEST_F(Dates, OfAPanelHaveTheOrderOfDayAndMonthOfTheWholeFile) {
  std::string text = "shop,day,x\n";
  for (int day = 13; day <= 35; ++day)
    for (int shop = 0; shop < 15; ++shop)
      text += fmt::format("{},{:02}/{:02}/2026,{}\n", shop, day <= 30 ? 4 : 5, day <= 30 ? day : day - 30, day);
  write("a.csv", text);
  EXPECT_THAT(dates_after_end("group: shop\nvalid_fraction: 0.1\n"),
              ElementsAre("05/06/2026", "05/07/2026", "05/08/2026"));
}

TEST_F(Dates, AreWrittenWithoutZerosIfTheFileHasNone) {
  std::string text = "day,x\n";
  for (int day = 1; day <= 31; ++day) text += fmt::format("2026-8-{},{}\n", day, day);
  for (int day = 1; day <= 30; ++day) text += fmt::format("2026-9-{},{}\n", day, day);
  write("a.csv", text);
  EXPECT_THAT(dates_after_end(), ElementsAre("2026-10-1", "2026-10-2", "2026-10-3"));
}

TEST_F(Dates, OfMonthsAreThoseOfTheClockOfTheFile) {
  write("a.csv",
        "day,x\n2023-09-30T00:00:00+02:00,1\n2023-10-31T00:00:00+02:00,2\n2023-11-30T00:00:00+02:00,3\n"
        "2023-12-31T00:00:00+02:00,4\n2024-01-31T00:00:00+02:00,5\n");
  EXPECT_THAT(dates_after_end(),
              ElementsAre("2024-02-29T00:00:00+02:00", "2024-03-31T00:00:00+02:00", "2024-04-30T00:00:00+02:00"));
}

// Newest first: the zone is that of the latest rows.
TEST_F(Dates, HaveTheZoneOfTheLatestRow) {
  std::string text = "day,x\n";
  for (int hour = 8; hour >= 3; --hour) text += fmt::format("2026-03-29 {:02}:00:00+02:00,{}\n", hour, hour);
  for (int hour = 1; hour >= 0; --hour) text += fmt::format("2026-03-29 {:02}:00:00+01:00,{}\n", hour, hour);
  for (int hour = 23; hour >= 0; --hour) text += fmt::format("2026-03-28 {:02}:00:00+01:00,{}\n", hour, hour);
  write("a.csv", text);
  EXPECT_EQ(dates_after_end("unsorted: sort\n").front(), "2026-03-29 09:00:00+02:00");
}

// Friday is followed by Monday, also in a shop whose rows are of less than a week.
TEST_F(Dates, OfAShortSeriesSkipWeekendsAsTheLongestDoes) {
  std::string text = "shop,day,x\n";
  for (int week = 0; week < 3; ++week)
    for (int day = 5; day <= 9; ++day) text += fmt::format("old,2026-01-{:02},{}\n", day + 7 * week, day);
  for (int day = 20; day <= 23; ++day) text += fmt::format("new,2026-01-{:02},{}\n", day, day);
  write("a.csv", text);
  EXPECT_THAT(dates_after_end("group: shop\nvalid_fraction: 0.1\n"),
              ElementsAre("2026-01-26", "2026-01-27", "2026-01-28"));
}

}  // namespace
}  // namespace rnnlab
