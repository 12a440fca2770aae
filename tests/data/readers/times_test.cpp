// SPDX-License-Identifier: Apache-2.0
#include "data/readers/times.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kSecond = 1'000'000, kHour = 3600 * kSecond, kDay = 24 * kHour;

CsvTable table_of(const std::string& text) { return parse_csv(text, "a.csv"); }

TEST(Times, AreReadInTheCommonForms) {
  for (const char* cell : {"1970-02-01",
                           "1970/02/01",
                           "1970.02.01",
                           "1970-02",
                           "1970M02",
                           "1970-M02",
                           "1970 Feb",
                           "Feb 1970",
                           "Feb-70",
                           "February 1, 1970",
                           "1 Feb 1970",
                           "01-Feb-70",
                           "02/1970",
                           "02/01/1970",
                           "2/1/70",
                           "01.02.1970",
                           "Sunday, 1 February 1970",
                           "1970-02-01T00:00:00Z",
                           "1970-02-01 00:00",
                           "19700201T000000",
                           "1970-02-01 12:00 am",
                           "1970-02-01T01:00:00+01:00",
                           "1970-01-31 20:00-04"})
    EXPECT_EQ(parse_time(cell), 31 * kDay) << cell;
  EXPECT_EQ(parse_time("02/01/1970", DateOrder::kDayFirst), kDay);
  EXPECT_EQ(parse_time("1970-01-01 13:45:10.5"), 13 * kHour + 45 * 60 * kSecond + 10 * kSecond + kSecond / 2);
  EXPECT_EQ(parse_time("1970-01-01 1:45 pm"), 13 * kHour + 45 * 60 * kSecond);
  for (const char* cell : {"1970 Q2", "1970Q2", "1970-Q2", "Q2 1970", "q2/1970"})
    EXPECT_EQ(parse_time(cell), 90 * kDay) << cell;
  EXPECT_EQ(parse_time("1970-W02"), 4 * kDay);  // Monday, 5 January
  EXPECT_EQ(parse_time("1970-W02-3"), 6 * kDay);
  EXPECT_EQ(parse_time("1970W023"), 6 * kDay);
  EXPECT_EQ(parse_time("1969-12-31 23:00"), -kHour);
}

TEST(Times, AreNotReadInOtherTexts) {
  for (const char* cell : {"", "1970", "1970.5", "12:30", "10.0.0.1", "1.2.3", "red", "1970-13", "1970-02-30", "2/1",
                           "1e5", "A-70", "1970 Q5", "1970-01-01 25:00", "maybe 1, 1970x", "-1970-01-01", "19700201"})
    EXPECT_EQ(parse_time(cell), std::nullopt) << cell;
}

TEST(Times, OfAColumnHaveOneOrderOfDayAndMonth) {
  const CsvTable by_month = table_of("day,x\n01/02/1970,1\n01/13/1970,2\n");
  EXPECT_THAT(times_of_column(by_month, 0)->times, ElementsAre(kDay, 12 * kDay));
  const CsvTable by_day = table_of("day,x\n01/02/1970,1\n13/02/1970,2\n");
  EXPECT_THAT(times_of_column(by_day, 0)->times, ElementsAre(31 * kDay, 43 * kDay));
  const CsvTable days = table_of("day,x\n01/01/1970,1\n02/01/1970,2\n03/01/1970,3\n");
  EXPECT_THAT(times_of_column(days, 0)->times, ElementsAre(0, kDay, 2 * kDay)) << "close together in time";
  EXPECT_EQ(times_of_column(table_of("day,x\n01/13/1970,1\n13/01/1970,2\n"), 0)->wrong_row, 1);
}

// Read by the other order, the dates are closer together, but jump from one January to the next.
TEST(Times, OfMonthsAndQuartersAreNotTheFirstDaysOfJanuary) {
  for (const int months : {1, 3}) {
    std::string by_day = "day,x\n", by_month = by_day, iso = by_day;
    for (int i = 0; i < 24; i += months) {
      const int year = 2019 + i / 12, month = 1 + i % 12;
      by_day += fmt::format("01/{:02}/{},1\n", month, year);
      by_month += fmt::format("{:02}/01/{},1\n", month, year);
      iso += fmt::format("{}-{:02}-01,1\n", year, month);
    }
    const std::vector<int64_t> expected = times_of_column(table_of(iso), 0)->times;
    EXPECT_EQ(times_of_column(table_of(by_day), 0)->times, expected) << months;
    EXPECT_EQ(times_of_column(table_of(by_month), 0)->times, expected) << months;
  }
}

TEST(Times, MayBeNumbersInAColumnThatIsNamedAsATime) {
  for (const char* cells : {"1700000000\n1700003600\n", "1700000000000\n1700003600000\n", "1.7e9\n1.7000036e9\n"}) {
    EXPECT_EQ(times_of_column(table_of(std::string("timestamp\n") + cells), 0)->times.at(0), 1'700'000'000 * kSecond);
    EXPECT_FALSE(times_of_column(table_of(std::string("price\n") + cells), 0));
  }
  EXPECT_THAT(times_of_column(table_of("date\n19700102\n19700103\n"), 0)->times, ElementsAre(kDay, 2 * kDay));
  EXPECT_THAT(times_of_column(table_of("year\n1970\n1971\n"), 0)->times, ElementsAre(0, 365 * kDay));
  EXPECT_THAT(times_of_column(table_of("date\n25569\n25570.5\n"), 0)->times, ElementsAre(0, kDay + 12 * kHour));
  EXPECT_FALSE(times_of_column(table_of("price\n25569\n25570.5\n"), 0));
  EXPECT_FALSE(times_of_column(table_of("x\n1970\n1971\n"), 0));
}

// Eight digits that are a date in every row are hardly anything else, whatever the name of the column.
TEST(Times, MayBeDatesInDigitsInAnyColumn) {
  EXPECT_THAT(times_of_column(table_of("when\n19700103\n19700102\n"), 0)->times, ElementsAre(2 * kDay, kDay));
  EXPECT_FALSE(times_of_column(table_of("part\n19700103\n19701399\n"), 0)) << "there is no month 13";
}

// A missing first cell decides nothing.
TEST(Times, SayWhetherTheyAreHardlyInputs) {
  const auto are_hardly_inputs = [](const char* table) {
    const auto times = times_of_column(table_of(table), 0);
    return times && times->are_hardly_inputs;
  };
  EXPECT_TRUE(are_hardly_inputs("x\n20240131\n"));
  EXPECT_TRUE(are_hardly_inputs("x,y\n,1\n20240131,2\n"));
  EXPECT_FALSE(are_hardly_inputs("year\n2024\n"));
  EXPECT_TRUE(are_hardly_inputs("timestamp\n1706659200\n"));
  EXPECT_TRUE(are_hardly_inputs("timestamp,y\n,1\n1706659200,2\n"));
  EXPECT_FALSE(are_hardly_inputs("price\n1706659200\n"));
}

TEST(Times, TakeTheHourOfAnotherColumn) {
  const CsvTable table = table_of("date,hour,x\n1970-01-01,0,1\n1970-01-01,1,2\n1970-01-02,0,3\n");
  EXPECT_THAT(times_of_column(table, 0)->times, ElementsAre(0, kHour, kDay));
  const CsvTable clock = table_of("date,at,x\n1970-01-01,00:30,1\n1970-01-01,12:30,2\n");
  EXPECT_THAT(times_of_column(clock, 0)->times, ElementsAre(kHour / 2, 12 * kHour + kHour / 2));
}

TEST(Times, TakeTheMonthAndTheDayBesideAYear) {
  const CsvTable table = table_of("year,month,day,hour,x\n1970,1,1,0,5\n1970,1,1,6,5\n1970,2,3,0,5\n");
  EXPECT_THAT(times_of_column(table, 0)->times, ElementsAre(0, 6 * kHour, 33 * kDay));
  EXPECT_THAT(times_of_column(table_of("year,quarter,x\n1970.0,1.0,5\n1970.0,2.0,5\n"), 0)->times,
              ElementsAre(0, 90 * kDay));
}

TEST(Times, NameTheFirstCellThatIsNone) {
  EXPECT_EQ(times_of_column(table_of("t,x\n1970-01-01,1\n1970-01-02,2\n1970-01-03,3\nlater,4\n"), 0)->wrong_row, 3);
  EXPECT_FALSE(times_of_column(table_of("t,x\nred,1\n1970-01-02,2\n"), 0));
}

std::vector<int64_t> days(const std::vector<int64_t>& numbers) {
  std::vector<int64_t> times;
  for (const int64_t number : numbers) times.push_back(number * kDay);
  return times;
}

TEST(TimeSteps, AreCounted) {
  const TimeSteps in_order = examine_times(days({4, 5, 6, 7, 8}));
  EXPECT_TRUE(in_order.is_in_order() && in_order.is_regular());
  EXPECT_EQ(in_order.usual_step, kDay);
  EXPECT_TRUE(examine_times(days({8, 7, 6, 5, 4})).is_newest_first);
  const TimeSteps unsorted = examine_times(days({4, 6, 5, 7, 8}));
  EXPECT_EQ(unsorted.num_backwards, 1);
  EXPECT_FALSE(unsorted.is_newest_first);
  EXPECT_EQ(unsorted.first_backwards, 2);
  const TimeSteps repeated = examine_times(days({4, 5, 5, 6}));
  EXPECT_EQ(repeated.num_repeated, 1);
  EXPECT_EQ(repeated.first_repeated, 2);
  const TimeSteps gap = examine_times(days({3, 4, 5, 9, 10, 11}));
  EXPECT_EQ(gap.num_gaps, 1);
  EXPECT_EQ(gap.first_gap, 3);
}

TEST(TimeSteps, OfMonthsAndWorkingDaysAreRegular) {
  EXPECT_TRUE(examine_times(days({0, 31, 59, 90, 120, 151, 181})).is_regular());
  EXPECT_FALSE(examine_times(days({0, 31, 59, 120, 151, 181})).is_regular());
  EXPECT_TRUE(examine_times(days({4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 18})).is_regular()) << "from Monday to Friday";
  EXPECT_FALSE(examine_times(days({4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 19})).is_regular()) << "one is a Saturday";
  EXPECT_FALSE(examine_times(days({4, 5, 6, 7, 11, 12, 13, 14, 15, 18})).is_regular()) << "a Friday is missing";
}

TEST(TimeSteps, ThatBecomeShorterOrLongerAreNotRegular) {
  std::vector<int64_t> times;
  for (int64_t hour = 0; hour < 20; ++hour) times.push_back(hour * kHour);
  for (int64_t day = 1; day < 10; ++day) times.push_back(19 * kHour + day * kDay);
  EXPECT_EQ(examine_times(times).num_gaps, 9);
  EXPECT_EQ(duration_text(kHour), "1 hour");
  EXPECT_EQ(duration_text(7 * kDay), "7 days");
  EXPECT_EQ(duration_text(31 * kDay), "1 month");
  EXPECT_EQ(duration_text(kHour / 2), "30 minutes");
}

}  // namespace
}  // namespace rnnlab
