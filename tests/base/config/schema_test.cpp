// SPDX-License-Identifier: Apache-2.0
// A setting says with its field when it may change: when a run is resumed, or when its model is used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/config/schema.h"

namespace rnnlab::config {
namespace {

using ::testing::ElementsAre;

struct Saving {
  int64_t keep = 2;
  static const Schema<Saving>& schema() {
    static const Schema<Saving> schema = [] {
      Schema<Saving> s("Saving");
      s.field("keep", &Saving::keep, "how many to keep");
      return s;
    }();
    return schema;
  }
};

struct Fitting {
  int64_t epochs = 1;
  int64_t threads = 1;
  double rate = 0.1;
  static const Schema<Fitting>& schema() {
    static const Schema<Fitting> schema = [] {
      Schema<Fitting> s("Fitting");
      s.field("epochs", &Fitting::epochs, "passes").at_least(1).may_change(Change::kOnResume);
      s.field("threads", &Fitting::threads, "threads").may_change(Change::kOnResume).may_change(Change::kOnUse);
      s.field("rate", &Fitting::rate, "learning rate");
      return s;
    }();
    return schema;
  }
};

struct Work {
  Fitting fitting;
  Saving saving;
  static const Schema<Work>& schema() {
    static const Schema<Work> schema = [] {
      Schema<Work> s("Work");
      s.group("fitting", &Work::fitting, "how", Fitting::schema());
      s.group("saving", &Work::saving, "when", Saving::schema(), {Change::kOnResume});
      return s;
    }();
    return schema;
  }
};

TEST(Changes, StandWithTheField) {
  const StructSpec& spec = Work::schema().spec();
  EXPECT_TRUE(spec.may_change("fitting.epochs", Change::kOnResume));
  EXPECT_FALSE(spec.may_change("fitting.epochs", Change::kOnUse));
  EXPECT_TRUE(spec.may_change("fitting.threads", Change::kOnUse));
  EXPECT_FALSE(spec.may_change("fitting.rate", Change::kOnResume)) << "training fixes it";
}

TEST(Changes, OfAGroupHoldForAllItsSettings) {
  const StructSpec& spec = Work::schema().spec();
  EXPECT_TRUE(spec.may_change("saving.keep", Change::kOnResume));
  EXPECT_FALSE(spec.may_change("saving.keep", Change::kOnUse));
}

TEST(Changes, AreNotOfKeysThatDoNotExist) {
  EXPECT_FALSE(Work::schema().spec().may_change("fitting.none", Change::kOnResume));
  EXPECT_FALSE(Work::schema().spec().may_change("none", Change::kOnResume));
}

TEST(Changes, AreListed) {
  EXPECT_THAT(Work::schema().spec().changeable_keys(Change::kOnResume),
              ElementsAre("fitting.epochs", "fitting.threads", "saving.*"));
  EXPECT_THAT(Work::schema().spec().changeable_keys(Change::kOnUse), ElementsAre("fitting.threads"));
}

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

TEST(WordsForNumbers, AreNamedNextToTheNumbers) {
  for (const char* wrong : {"devices: 0", "devices: none", "devices: 9"}) {
    Findings findings;
    team_in(wrong, findings);
    EXPECT_THAT(findings.lines(), ElementsAre(::testing::HasSubstr("at most 8, or all"))) << wrong;
  }
}

TEST(WordsForNumbers, AreInTheSchemaOfEditors) {
  EXPECT_THAT(json_schema(Team::schema()), ::testing::HasSubstr("\"const\": \"all\""));
}

}  // namespace
}  // namespace rnnlab::config
