// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/heartbeat.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "train/ranks/store_of_two.h"

namespace rnnlab {
namespace {

using std::chrono::milliseconds;

class HeartbeatOfTwo : public StoreOfTwo {
 protected:
  // Returns the state after some rounds.
  static RunStatus after_rounds(Heartbeat& heartbeat, int64_t count) {
    const int64_t end = heartbeat.status().num_rounds + count;
    return heartbeat.poll_until(milliseconds(5000), [&](const RunStatus& now) { return now.num_rounds >= end; });
  }
};

const std::string kForged = "process 7 of x";

TEST_F(HeartbeatOfTwo, TakesTheHeartbeatOfARank) {
  Heartbeat heartbeat(*store_, 0, 2);
  write("beat/1", kForged + "|writes|12|3");
  const RunStatus status =
      heartbeat.poll_until(milliseconds(5000), [](const RunStatus& now) { return now.ranks[1].writes_files; });
  EXPECT_EQ(status.ranks[1].process, kForged);
  EXPECT_EQ(status.ranks[1].num_operations, 12);
}

// What is not a heartbeat changes nothing, so the rank counts as silent.
TEST_F(HeartbeatOfTwo, TakesNoHeartbeatThatNoRankSends) {
  Heartbeat heartbeat(*store_, 0, 2);
  write("beat/1", kForged + "|trains|12|3");
  heartbeat.poll_until(milliseconds(5000), [](const RunStatus& now) { return !now.ranks[1].process.empty(); });
  for (const std::string& wrong :
       {std::string(), std::string("|"), kForged, kForged + "|sleeps|13|4", kForged + "|trains|-1|4",
        kForged + "|trains|13", kForged + "|trains|13|x", kForged + "|trains|99999999999999999999|4",
        kForged + "|trains|13|4|5", std::string("|trains|13|4"), std::string(1 << 20, '|'), std::string(100, '\0')}) {
    write("beat/1", wrong);
    const RunStatus status = after_rounds(heartbeat, 2);
    EXPECT_EQ(status.ranks[1].process, kForged) << wrong.substr(0, 50);
    EXPECT_EQ(status.ranks[1].num_operations, 12) << wrong.substr(0, 50);
    EXPECT_FALSE(status.is_store_gone);
  }
}

// Who can write into the store could else keep a rank that is suspended alive for the others.
TEST_F(HeartbeatOfTwo, TakesNoEarlierHeartbeatAgain) {
  Heartbeat heartbeat(*store_, 0, 2);
  write("beat/1", kForged + "|trains|12|30");
  heartbeat.poll_until(milliseconds(5000), [](const RunStatus& now) { return now.ranks[1].num_operations == 12; });
  write("beat/1", kForged + "|writes|11|29");
  const RunStatus status = after_rounds(heartbeat, 2);
  EXPECT_EQ(status.ranks[1].num_operations, 12);
  EXPECT_FALSE(status.ranks[1].writes_files);
  write("beat/1", kForged + "|left");
  EXPECT_TRUE(after_rounds(heartbeat, 2).ranks[1].has_left);
}

TEST_F(HeartbeatOfTwo, SurvivesKeysThatAreDeleted) {
  Heartbeat heartbeat(*store_, 0, 2);
  std::atomic<bool> is_enough = false;
  const std::jthread stranger([&, store = open()] {
    while (!is_enough) {
      put_text(*store, "failure", "x");
      for (const char* key : {"failure", "beat/0"}) store->deleteKey(key);
    }
  });
  EXPECT_FALSE(after_rounds(heartbeat, 4).is_store_gone);
  is_enough = true;
}

}  // namespace
}  // namespace rnnlab
