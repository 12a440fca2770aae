#include "results/run_copy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "results/sample_records.h"

namespace rnnlab::testing {
namespace {

RunRecord trained_run(const std::string& process) {
  RunRecord run = process_record(process, {1, 2, 3});
  run.environment.start_time = "2026-11-21T02:59:51Z";
  run.config = {{"layer", "naive"}};
  return run;
}

TEST(RunCopy, IsTheSameRunInAnotherFolder) {
  RunRecord copy = trained_run("p");
  copy.folder = "another";
  copy.config["layer"] = "fused";  // as somebody may have changed in the copy
  EXPECT_TRUE(is_copy(trained_run("p"), copy));
}

TEST(RunCopy, HasNotANumberWhereTheRunHas) {
  RunRecord run = trained_run("p"), copy = trained_run("p");
  run.rows[2].train_loss = copy.rows[2].train_loss = std::nan("");
  EXPECT_TRUE(is_copy(run, copy));
}

TEST(RunCopy, IsNoRunOfAnotherProcessStartOrTime) {
  RunRecord later = trained_run("p"), other_time = trained_run("p"), longer = trained_run("p");
  later.environment.start_time = "2026-11-21T02:59:52Z";
  other_time.rows[1].train_seconds = 2.000001;
  longer.rows.emplace_back();
  for (const RunRecord& other : {trained_run("q"), later, other_time, longer})
    EXPECT_FALSE(is_copy(trained_run("p"), other));
}

TEST(RunCopy, OfAnOldRunHasTheSameSettings) {
  RunRecord other_layer = trained_run("");
  other_layer.config["layer"] = "fused";
  EXPECT_TRUE(is_copy(trained_run(""), trained_run("")));
  EXPECT_FALSE(is_copy(trained_run(""), other_layer));
}

TEST(RunCopy, IsNotSeenInRunsWithoutEpochs) {
  RunRecord naive = trained_run("p"), fused = trained_run("p");
  naive.rows.clear();
  fused.rows.clear();
  fused.config["layer"] = "fused";
  EXPECT_FALSE(is_copy(naive, fused));
}

}  // namespace
}  // namespace rnnlab::testing
