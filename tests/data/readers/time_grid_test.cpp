// SPDX-License-Identifier: Apache-2.0
#include "data/readers/time_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "data/readers/time_text.h"
#include "data/readers/times.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> times_of(const std::vector<std::string_view>& cells) {
  std::vector<int64_t> times;
  for (const std::string_view cell : cells) times.push_back(parse_time(cell).value());
  return times;
}

// Returns the cells that follow these, in their form.
std::vector<std::string> next(const std::vector<std::string_view>& cells, int64_t count = 2) {
  const std::vector<int64_t> times = times_of(cells);
  const auto step = usual_time_step(times);
  const auto form = TimeForm::of(cells, times);
  if (!step || !form) return {};
  std::vector<std::string> following;
  for (int64_t i = 1; i <= count; ++i) following.push_back(form->text(TimeGrid(*step, times).after(times.back(), i)));
  return following;
}

TEST(TimeStep, IsReadAndWritten) {
  for (const char* text : {"1s", "15min", "1h", "36h", "1d", "2b", "1w", "1mo", "1q", "5mo", "2y"})
    EXPECT_EQ(step_text(parse_time_step(text).value()), text);
  EXPECT_EQ(step_text(parse_time_step("60min").value()), "1h");
  for (const char* text : {"", "h", "0h", "1", "-1h", "1.5h", "1 h", "1H", "1m", "9999999999d", "40000y", "1000000mo"})
    EXPECT_FALSE(parse_time_step(text)) << text;
}

TEST(TimeGrid, FollowsTheUsualStepInTheFormOfTheCells) {
  EXPECT_THAT(next({"2026-01-30", "2026-01-31", "2026-02-01"}), ElementsAre("2026-02-02", "2026-02-03"));
  EXPECT_THAT(next({"2026-01-31 22:00", "2026-01-31 23:00"}), ElementsAre("2026-02-01 00:00", "2026-02-01 01:00"));
  EXPECT_THAT(next({"2026-01-31T22:00:00+01:00", "2026-01-31T22:30:00+01:00"}),
              ElementsAre("2026-01-31T23:00:00+01:00", "2026-01-31T23:30:00+01:00"));
  EXPECT_THAT(next({"2025-11", "2025-12", "2026-01"}), ElementsAre("2026-02", "2026-03"));
  EXPECT_THAT(next({"2025-11-30", "2025-12-31", "2026-01-31"}), ElementsAre("2026-02-28", "2026-03-31"));
  EXPECT_THAT(next({"2025-11-30", "2025-12-30", "2026-01-30"}), ElementsAre("2026-02-28", "2026-03-30"));
  EXPECT_THAT(next({"2025 Q3", "2025 Q4"}), ElementsAre("2026 Q1", "2026 Q2"));
  EXPECT_THAT(next({"2025-W51", "2025-W52"}), ElementsAre("2026-W01", "2026-W02"));
  EXPECT_THAT(next({"Nov 2025", "Dec 2025"}), ElementsAre("Jan 2026", "Feb 2026"));
  EXPECT_THAT(next({"31.12.2025", "01.01.2026"}), ElementsAre("02.01.2026", "03.01.2026"));
  EXPECT_THAT(next({"2024-02-29 11:00 pm", "2024-03-01 1:00 am"}), ElementsAre()) << "two forms";
}

TEST(TimeGrid, LeavesOutWeekendsIfTheTimesDo) {
  std::vector<std::string_view> days = {"2026-01-01", "2026-01-02", "2026-01-05", "2026-01-06",
                                        "2026-01-07", "2026-01-08", "2026-01-09"};  // a Friday
  EXPECT_THAT(next(days), ElementsAre("2026-01-12", "2026-01-13"));
  const TimeGrid workdays(parse_time_step("1b").value(), times_of(days));
  EXPECT_EQ(workdays.steps_between(times_of(days)[1], times_of(days)[2]), 1);
  EXPECT_EQ(workdays.steps_between(times_of(days)[0], times_of(days)[6]), 6);
  EXPECT_FALSE(workdays.steps_between(times_of(days)[1], times_of({"2026-01-03"})[0])) << "a Saturday";
}

TEST(TimeGrid, CountsStepsOnlyWhereTheyArrive) {
  const std::vector<int64_t> times = times_of({"2026-01-01 00:00", "2026-01-01 03:00", "2026-01-01 03:30"});
  const TimeGrid hours(parse_time_step("1h").value(), times);
  EXPECT_EQ(hours.steps_between(times[0], times[1]), 3);
  EXPECT_FALSE(hours.steps_between(times[1], times[2]));
  EXPECT_FALSE(hours.steps_between(times[1], times[0]));
  const std::vector<int64_t> months = times_of({"2025-12-31", "2026-02-28", "2026-03-01"});
  const TimeGrid ends(parse_time_step("1mo").value(), std::span(months).first(2));
  EXPECT_EQ(ends.steps_between(months[0], months[1]), 2);
  EXPECT_FALSE(ends.steps_between(months[0], months[2]));
}

TEST(TimeGrid, HasNoUsualStepWhereStepsDiffer) {
  EXPECT_FALSE(usual_time_step(times_of({"2026-01-01", "2026-01-02", "2026-01-05", "2026-01-13", "2026-02-13"})));
  EXPECT_FALSE(usual_time_step(times_of({"2026-01-01"})));
}

TEST(TimeForm, WritesNumbers) {
  const std::vector<int64_t> times = times_of({"2026-01-30", "2026-01-31"});
  for (const auto& [first, second, third] : {std::tuple("1769731200", "1769817600", "1769904000"),
                                             {"1769731200000", "1769817600000", "1769904000000"},
                                             {"46052", "46053", "46054"},
                                             {"20260130", "20260131", "20260201"}}) {
    const std::vector<std::string_view> cells = {first, second};
    EXPECT_EQ(TimeForm::of(cells, times).value().text(parse_time("2026-02-01").value()), third);
  }
}

TEST(TimeForm, TellsDaysFromMonths) {
  const std::vector<std::string_view> cells = {"01/02/2026", "02/02/2026"};
  const std::vector<int64_t> by_day = {parse_time("2026-02-01").value(), parse_time("2026-02-02").value()};
  EXPECT_EQ(TimeForm::of(cells, by_day).value().text(parse_time("2026-02-03").value()), "03/02/2026");
}

TEST(TimeForm, KnowsTheOrderOfDayAndMonthOfAnAmbiguousDate) {
  const std::vector<std::string_view> cells = {"05/05/2026"};
  const std::vector<int64_t> times = {parse_time("2026-05-05").value()};
  const int64_t next = parse_time("2026-05-06").value();
  EXPECT_EQ(TimeForm::of(cells, times, DateOrder::kMonthFirst).value().text(next), "05/06/2026");
  EXPECT_EQ(TimeForm::of(cells, times, DateOrder::kDayFirst).value().text(next), "06/05/2026");
}

}  // namespace
}  // namespace rnnlab
