#include "results/run_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/temporary_folder.h"

namespace rnnlab::testing {
namespace {

using ::testing::ElementsAre;

RunRecord run(const std::string& folder, const std::string& started) {
  RunRecord record;
  record.folder = folder;
  record.started = started;
  record.environment.start_time = started.substr(0, std::string("2026-11-21T02:59:51").size()) + "Z";
  return record;
}

std::vector<std::string> order_of(const std::vector<RunRecord>& runs) {
  std::vector<std::string> folders;
  for (const RunRecord* record : in_order_of_sweeps(runs)) folders.push_back(record->folder.string());
  return folders;
}

// A sweep of naive and fused: the folders' names say when to the second, and sort by layer.
TEST(RunOrder, OfRunsOfOneSecondIsThatOfTheirStarts) {
  EXPECT_THAT(order_of({run("runs/rows/51Z-cpu-fused", "2026-11-21T02:59:51.700Z"),
                        run("runs/rows/51Z-cpu-naive", "2026-11-21T02:59:51.079Z"),
                        run("runs/rows/52Z-cpu-naive", "2026-11-21T02:59:52.100Z")}),
              ElementsAre("runs/rows/51Z-cpu-naive", "runs/rows/51Z-cpu-fused", "runs/rows/52Z-cpu-naive"));
}

TEST(RunOrder, IsOtherwiseTheOneInWhichRunsWereNamed) {
  EXPECT_THAT(order_of({run("runs/b/x", "2026-11-21T02:59:52.100Z"), run("runs/b/y", "2026-11-21T02:59:51.100Z"),
                        run("runs/c/z", "2026-11-21T02:59:51.000Z")}),
              ElementsAre("runs/b/x", "runs/b/y", "runs/c/z"));
}

// The order in a round is drawn, so that the first to start may be any.
TEST(RunOrder, OfAMeasurementIsThatOfTheSweep) {
  std::vector<RunRecord> runs;
  for (const int64_t number : {2, 1, 1, 2}) {
    runs.push_back(run(std::to_string(runs.size()), "2026-11-21T02:59:5" + std::to_string(runs.size()) + ".000Z"));
    runs.back().summary.turn = {.process = "p", .measurement = "m", .case_number = number};
  }
  EXPECT_THAT(order_of(runs), ElementsAre("1", "2", "0", "3"));
}

TEST(StartByLog, IsTheFirstLinesTime) {
  const TemporaryFolder folder;
  EXPECT_EQ(start_by_log(folder.path()), "");
  write_text(folder.path() / "train.log", "2026-11-21T02:59:51.079Z info    run       runs/rows\n");
  EXPECT_EQ(start_by_log(folder.path()), "2026-11-21T02:59:51.079Z");
  write_text(folder.path() / "train.log", "what somebody wrote into the log of a run\n");
  EXPECT_EQ(start_by_log(folder.path()), "");
  write_text(folder.path() / "train.log", "2026-11-21");
  EXPECT_EQ(start_by_log(folder.path()), "");
}

}  // namespace
}  // namespace rnnlab::testing
