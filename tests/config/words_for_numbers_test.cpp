// Tests a word that is allowed instead of a number: devices: all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/schema.h"

namespace rnnlab::config {
namespace {

struct Team {
  std::optional<int64_t> devices;
  static const Schema<Team>& schema() {
    static const Schema<Team> schema = [] {
      Schema<Team> s("A team");
      s.field("devices", &Team::devices, "how many").at_least(1).at_most(8).or_word("all", 0);
      return s;
    }();
    return schema;
  }
};

Team team_in(const std::string& text, Findings& findings) {
  return read(Document::from_text(text, "team.yaml", findings), Team::schema(), findings);
}

TEST(WordsForNumbers, AreReadAndPrintedAsTheyWereWritten) {
  for (const char* text : {"all", "3", "null"}) {
    Findings findings;
    const Team team = team_in(std::string("devices: ") + text, findings);
    EXPECT_THAT(findings.lines(), ::testing::IsEmpty());
    Findings again;
    EXPECT_EQ(team_in(print(team, Team::schema()), again).devices, team.devices) << text;
  }
  Findings findings;
  EXPECT_EQ(team_in("devices: all", findings).devices, 0);
}

TEST(WordsForNumbers, AreNamedBesideTheNumbers) {
  for (const char* wrong : {"devices: 0", "devices: none", "devices: 9"}) {
    Findings findings;
    team_in(wrong, findings);
    EXPECT_THAT(findings.lines(),
                ::testing::ElementsAre(::testing::HasSubstr("an integer, at least 1 and at most 8, or all")))
        << wrong;
  }
}

TEST(WordsForNumbers, AreInTheSchemaOfEditors) {
  EXPECT_THAT(json_schema(Team::schema()), ::testing::HasSubstr("\"const\": \"all\""));
}

}  // namespace
}  // namespace rnnlab::config
