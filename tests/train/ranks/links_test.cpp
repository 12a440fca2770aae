// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "base/text.h"

namespace rnnlab {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

constexpr const char* kLoopback = "127.0.0.1";
constexpr milliseconds kShort{1000};

class LinksOfRank : public Links {
 public:
  explicit LinksOfRank(int64_t rank) : Links(rank) { listen(kLoopback); }
};

TEST(Links, TellWhoAnswersAndWhoReachesTheStore) {
  LinksOfRank first(0), second(1), third(2);
  first.set_entries({first.entry(), second.entry(), third.entry()});
  second.serve([] { return true; });
  third.serve([] { return false; });
  EXPECT_THAT(first.probe(), ElementsAre(LinkState::kReachesStore, LinkState::kReachesStore, LinkState::kAnswers));
}

// A suspended process accepts connections, because the system does so, but it does not answer.
TEST(Links, TellASuspendedRankFromOneThatHasEnded) {
  LinksOfRank first(0);
  const LinksOfRank suspended(1);
  auto ended = std::make_unique<LinksOfRank>(2);
  first.set_entries({first.entry(), suspended.entry(), ended->entry()});
  ended.reset();
  EXPECT_THAT(first.probe(kShort), ElementsAre(LinkState::kReachesStore, LinkState::kSilent, LinkState::kRefuses));
}

TEST(Links, HearWhoReports) {
  LinksOfRank first(0), second(1);
  first.set_entries({first.entry(), second.entry()});
  second.serve([] { return true; });
  EXPECT_FALSE(second.has_heard_report());
  first.announce_report();
  for (int i = 0; i < 1000 && !second.has_heard_report(); ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(second.has_heard_report());
  EXPECT_FALSE(first.has_heard_report());
}

// A process that was suspended meanwhile finds the report when it continues.
TEST(Links, HearAReportThatCameBeforeTheyServe) {
  LinksOfRank first(0), second(1);
  first.set_entries({first.entry(), second.entry()});
  first.announce_report();
  second.serve([] { return true; });
  for (int i = 0; i < 1000 && !second.has_heard_report(); ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(second.has_heard_report());
}

TEST(Links, AnswerNobodyWithoutTheirToken) {
  LinksOfRank first(0), second(1);
  second.serve([] { return true; });
  const std::vector<std::string> parts = split(second.entry(), ' ');
  first.set_entries({first.entry(), parts[0] + " " + parts[1] + " " + std::string(parts[2].size(), '0')});
  EXPECT_THAT(first.probe(), ElementsAre(LinkState::kReachesStore, LinkState::kRefuses));
  first.announce_report();
  std::this_thread::sleep_for(kShort);
  EXPECT_FALSE(second.has_heard_report());
}

TEST(Links, KnowNothingFromEntriesThatNoRankWrites) {
  LinksOfRank links(0);
  const std::string token(64, 'a');
  links.set_entries({links.entry(), "", "127.0.0.1 80", "127.0.0.1 0 " + token, "127.0.0.1 65536 " + token,
                     "localhost 80 " + token, "127.0.0.1 80 " + std::string(64, 'g'), "127.0.0.1 80 aa",
                     std::string(100'000, ' ')});
  const std::vector<LinkState> states = links.probe(kShort);
  EXPECT_EQ(states.size(), 9U);
  EXPECT_EQ(std::count(states.begin(), states.end(), LinkState::kUnknown), 8);
  EXPECT_EQ(links.address_of(1), "");
}

TEST(Links, ShowAddresses) {
  LinksOfRank links(0);
  const std::string token(64, 'a');
  links.set_entries({"10.0.0.2 41234 " + token, "fd00::2 41234 " + token});
  EXPECT_EQ(links.address_of(0), "10.0.0.2:41234");
  EXPECT_EQ(links.address_of(1), "[fd00::2]:41234");
  EXPECT_EQ(links.address_of(2), "");
}

TEST(Links, TellOfAPortWhetherItIsOpen) {
  EXPECT_EQ(state_of_port("no host has this name.invalid", 80), LinkState::kUnknown);
  auto listening = std::make_unique<LinksOfRank>(0);
  const int64_t port = std::stoll(split(listening->entry(), ' ')[1]);
  EXPECT_EQ(state_of_port(kLoopback, port), LinkState::kSilent);
  listening.reset();
  EXPECT_EQ(state_of_port(kLoopback, port), LinkState::kRefuses);
}

}  // namespace
}  // namespace rnnlab
