#include "report/run_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_sources.h"

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

}  // namespace
}  // namespace rnnlab::report
