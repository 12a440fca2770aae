// SPDX-License-Identifier: Apache-2.0
#include "golden.h"
#include "runs/report/sections.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/sample_runs.h"
#include "runs/report/sample_sources.h"

namespace rnnlab::report {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

using Row = std::vector<std::string>;

TEST(RunFacts, AreShownOnceIfAllRunsShareThem) {
  const std::vector<RunFacts> facts = {{"a", {{"CPU", "x"}, {"threads", "2"}}},
                                       {"b", {{"CPU", "x"}, {"threads", "4"}}}};
  EXPECT_THAT(shared_facts(facts, "machine").rows(), ElementsAre(Row{"CPU", "x"}));
  EXPECT_THAT(differing_facts(facts).rows(), ElementsAre(Row{"a", "2"}, Row{"b", "4"}));
}

TEST(RunFacts, SayWhatARunDoesNotHave) {
  const std::vector<RunFacts> facts = {{"a", {{"sweep.layer", "x"}}}, {"b", {}}};
  EXPECT_THAT(differing_facts(facts).rows(), ElementsAre(Row{"a", "x"}, Row{"b", "absent"}));
}

TEST(RunFacts, TellWhatIsAbsentFromTheWordAbsent) {
  const std::vector<RunFacts> facts = {{"a", {}}, {"b", {{"data.target", "absent"}}}};
  EXPECT_TRUE(shared_facts(facts, "setting").rows().empty());
}

TEST(RunFacts, HaveMachineBuildAndSettings) {
  const auto runs = testing::read_back(testing::naive_and_fused());
  EXPECT_THAT(environment_of(runs[0], "a").values, Contains(std::pair<std::string, std::string>("LibTorch", "2.11.0")));
  EXPECT_THAT(environment_of(runs[0], "a").values,
              Contains(std::pair<std::string, std::string>("build", "Release, gcc 12.2.0")));
  EXPECT_THAT(settings_of(runs[1], "b").values, Contains(std::pair<std::string, std::string>("layer", "fused")));
}

TEST(RunFacts, HaveTheExchangeOfSeveralProcesses) {
  using Fact = std::pair<std::string, std::string>;
  std::vector<RunRecord> runs = testing::read_back({testing::run_of_devices(2, 1)});
  for (EpochRow& row : runs[0].rows) {
    row.exchange_seconds = row.train_seconds / 8;
    row.slowest_process_seconds = 0.875;
    row.fastest_process_seconds = 0.7;
  }
  const auto facts = environment_of(runs[0], "a").values;
  EXPECT_THAT(facts, Contains(Fact("devices", "2 processes on 1 host by gloo")));
  EXPECT_THAT(facts, Contains(Fact("exchange that is not overlapped", "12.5 % of an epoch (median)")));
  EXPECT_THAT(facts, Contains(Fact("slowest process", "computes 25.0 % longer than the fastest (median)")));
  for (const auto& [name, value] : environment_of(testing::read_back(testing::naive_and_fused())[0], "a").values)
    EXPECT_NE(name, "devices") << "of a run of one process";
}

}  // namespace

namespace {

using ::testing::ElementsAre;

GroupResult group(const std::string& label, double seconds) {
  GroupResult result;
  result.label = label;
  result.num_processes = 5;
  result.num_timed_epochs = 35;
  result.seconds = seconds;
  result.low_seconds = 0.9 * seconds;
  result.high_seconds = 1.1 * seconds;
  return result;
}

TimeVerdict verdict_of(double low, double high) {
  if (high < 1) return TimeVerdict::kFaster;
  return low > 1 ? TimeVerdict::kSlower : TimeVerdict::kNoDifference;
}

GroupResult compared(const std::string& label, double ratio, double low, double high) {
  GroupResult result = group(label, ratio);
  result.ratio = ratio;
  result.ratio_low = low;
  result.ratio_high = high;
  result.verdict = verdict_of(low, high);
  return result;
}

Comparison comparison(const std::vector<GroupResult>& groups) {
  Comparison made;
  made.baseline = groups[0].label;
  made.groups = groups;
  return made;
}

TEST(Headlines, SayWhatEachGroupGainsOverTheBaseline) {
  expect_golden(headlines(comparison({group("cpu naive", 1), compared("cpu fused", 0.25, 0.2, 0.3),
                                      compared("cpu slow", 2, 1.5, 3), compared("cpu equal", 0.95, 0.8, 1.1)})));
}

TEST(Headlines, OfAForcedComparisonSaySo) {
  Comparison forced = comparison({group("a", 1), compared("b", 0.5, 0.4, 0.6)});
  forced.forced = {"precision: fp32 in a, tf32 in b"};
  expect_golden(headlines(forced)[1]);
}

// The spread of the epochs does not matter.
TEST(Headlines, FindNothingInOneProcessASide) {
  Comparison of_one = comparison({group("a", 1), group("b", 5)});
  for (GroupResult& one : of_one.groups) {
    one.num_processes = 1;
    one.num_timed_epochs = 7;
    one.bounds_are_spread = true;
  }
  of_one.groups[1].ratio = 5;
  of_one.groups[1].verdict = TimeVerdict::kNone;
  expect_golden(headlines(of_one));
}

TEST(Headlines, OfThreeProcessesGiveTheIntervalWithoutAVerdict) {
  Comparison of_three = comparison({group("a", 1), compared("b", 0.5, 0.4, 0.6)});
  of_three.groups[1].num_processes = 3;
  of_three.groups[1].verdict = TimeVerdict::kNone;
  expect_golden(headlines(of_three)[1]);
}

TEST(Headlines, SayThatAWideIntervalDecidesNothing) {
  GroupResult wide = compared("b", 0.9, 0.5, 1.6);
  wide.verdict = TimeVerdict::kUndecided;
  EXPECT_THAT(headlines(comparison({group("a", 1), wide}))[1],
              "Undecided: b takes 0.9 of the time of a (95 % interval 0.5 to 1.6).");
}

TEST(Headlines, OfManyGroupsNameTheEnds) {
  std::vector<GroupResult> groups = {group("base", 1)};
  for (int i = 1; i <= 20; ++i) groups.push_back(compared(fmt::format("run {}", i), i, 0.9 * i, 1.1 * i));
  expect_golden(headlines(comparison(groups)));
}

std::string answer(const std::vector<GroupResult>& groups) {
  return answer_of(testing::read_back(testing::naive_and_fused()), comparison(groups)).sentence;
}

TEST(Answer, IsHowManyTimesAsFastTheFastestSideIs) {
  expect_golden(answer({group("cpu naive", 1), compared("cpu fused", 0.25, 0.2, 0.3125)}));
  expect_golden(answer({group("a", 1), compared("b", 0.5, 0.4, 0.625), compared("c", 0.25, 0.2, 0.3125)}));
}

TEST(Answer, ClaimsNothingThatTheVerdictDoesNotSay) {
  expect_golden(answer({group("a", 1), compared("b", 2, 1.5, 3)}));
  expect_golden(answer({group("a", 1), compared("b", 0.95, 0.8, 1.1)}));
  GroupResult undecided = compared("b", 0.9, 0.5, 1.6);
  undecided.verdict = TimeVerdict::kUndecided;
  expect_golden(answer({group("a", 1), undecided}));
  GroupResult few = group("b", 0.5);
  few.ratio = 0.5;
  few.verdict = TimeVerdict::kNone;
  expect_golden(answer({group("a", 1), few}));
}

TEST(Answer, OfOneSideIsItsTime) {
  expect_golden(answer({group("cpu naive", 1)}));
  GroupResult untimed;
  untimed.label = "cpu fused";
  expect_golden(answer({untimed}));
}

TEST(Answer, NamesMachineDayAndDataOfAllRunsInOneLine) {
  auto runs = testing::naive_and_fused();
  for (auto& run : runs) run.config += "data: {source: csv, path: data/pets.csv}\n";
  expect_golden(conditions_of(testing::read_back(runs)));
  runs[1].environment.cpu.model = "Another CPU";
  runs[1].environment.start_time = "2026-11-23T00:00:00Z";
  expect_golden(conditions_of(testing::read_back(runs)));
}

TEST(Headlines, SayWhereThereIsNoTime) {
  GroupResult untimed;
  untimed.label = "cpu fused";
  expect_golden(headlines(comparison({untimed})));
}

}  // namespace

}  // namespace rnnlab::report
