#include "report/run_section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_sources.h"
#include "results/sample_devices.h"

namespace rnnlab::report {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

using Row = std::vector<std::string>;

TEST(RunFacts, AreToldOnceWhereAllRunsShareThem) {
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
}  // namespace rnnlab::report
