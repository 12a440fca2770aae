// SPDX-License-Identifier: Apache-2.0
// Tests promise R2 of docs/reliability.md: trains while the system fails: a system call that changes the run's folder
// fails, once or from then on (results/checkpoint/failing_system.cpp). By default some calls fail; with
// RNNLAB_CALLS_APART=1 each call fails in turn.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "app/program.h"
#include "reliability/trained_run.h"
#include "results/checkpoint/checkpoint.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;

struct TrainingFailure {
  std::string name;
  std::string how;
  std::string lasting;
  bool is_survived;  // because the call is repeated
};

class FailingTraining : public ::testing::TestWithParam<TrainingFailure> {
 protected:
  FailingTraining() { program_.write("small.yaml", kSmallYaml); }

  // Returns the line of the first call that failed; "" if the run made fewer calls.
  std::string train_with_failure(int64_t call) {
    fs::remove_all(out());
    fs::remove(log());
    const std::string environment = fmt::format(
        "LD_PRELOAD={} ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 RNNLAB_FAIL_CALL={} RNNLAB_FAIL_HOW={} "
        "RNNLAB_FAIL_LASTING={} RNNLAB_FAIL_BELOW={} RNNLAB_FAIL_LOG={}",
        RNNLAB_FAILING_SYSTEM, call, GetParam().how, GetParam().lasting, out().string(), log().string());
    result_ = program_.run_in_shell(environment + " \"$0\" train --quiet small.yaml --out " + out().string());
    const std::string text = read_text(log());
    const size_t failed = text.find("FAILED ");
    return failed == std::string::npos ? "" : text.substr(failed, text.find('\n', failed) - failed);
  }

  void expect_clear_outcome(const std::string& failed) const {
    std::vector<std::string> errors;
    std::istringstream lines(result_.errors);
    for (std::string line; std::getline(lines, line);)
      if (!line.starts_with("rnnlab: warning: ")) errors.push_back(line);
    const bool happens_once = GetParam().lasting == "0";
    if (GetParam().is_survived || (happens_once && (is_check_of_older(failed) || is_link_latest(failed)))) {
      EXPECT_EQ(result_.exit_code, 0);
      EXPECT_EQ(errors, std::vector<std::string>{});
      return;
    }
    EXPECT_TRUE(result_.exit_code == 4 || result_.exit_code == 6) << result_.exit_code;
    ASSERT_EQ(errors.size(), 1U) << result_.errors;
    EXPECT_TRUE(errors.front().starts_with("rnnlab: error: " + out().string())) << errors.front();
  }

  // Before an old checkpoint is removed, a newer one is verified; if it cannot be read, nothing is removed.
  static bool is_check_of_older(const std::string& failed) {
    return failed.find("open ") != std::string::npos && failed.find("/step-") != std::string::npos;
  }

  // The link is a convenience, and no run ends because of it.
  static bool is_link_latest(const std::string& failed) { return failed.ends_with("/latest"); }

  void expect_nothing_lost() const {
    for (const fs::path& run : runs())
      for (const CheckpointPlace& place : list_checkpoints(run / kCheckpointsFolder)) verify_checkpoint(place.path);
  }

  // Resumes the run if it has a folder; otherwise trains again.
  TrainedRun finish_training() {
    std::vector<std::string> arguments = {"train", "--quiet", "small.yaml", "--out", out().string()};
    for (const fs::path& run : runs())
      if (fs::exists(run / kConfigFile)) arguments = {"train", "--quiet", "--resume", run.string()};
    program_.run(arguments, 0);
    return read_trained_run(runs().back());
  }

  std::vector<fs::path> runs() const {
    std::vector<fs::path> runs;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(out() / "small", ignored))
      if (!entry.is_symlink()) runs.push_back(entry.path());
    std::ranges::sort(runs);
    return runs;
  }

  fs::path out() const { return program_.folder() / "out"; }
  fs::path log() const { return program_.folder() / "calls"; }

 private:
  Program program_;
  ProgramResult result_;
};

TEST_P(FailingTraining, LosesNoCheckpointAndTheRunEndsAsIfNothingHadFailed) {
  ASSERT_EQ(train_with_failure(0), "");
  const TrainedRun whole = read_trained_run(runs().front());
  const int64_t step = number_from_environment("RNNLAB_CALLS_APART", 97);
  int64_t num_failed = 0;
  for (int64_t call = 1 + static_cast<int64_t>(GetParam().name.size()) % step;; call += step, ++num_failed) {
    const std::string failed = train_with_failure(call);
    if (failed.empty()) break;
    SCOPED_TRACE(fmt::format("call {}: {}", call, failed));
    expect_clear_outcome(failed);
    expect_nothing_lost();
    EXPECT_EQ(finish_training(), whole);
  }
  EXPECT_GE(num_failed, 2);
  std::cout << GetParam().name << ": " << num_failed << " calls failed\n";
  RecordProperty("calls_failed", static_cast<int>(num_failed));
}

// The entry of a run's folder in its parent must survive a loss of power.
TEST(RunFolder, LastsThroughALossOfPower) {
  const Program program;
  program.write("small.yaml", kSmallYaml);
  const std::string out = (program.folder() / "out").string();
  const std::string log = (program.folder() / "calls").string();
  program.run_in_shell(
      fmt::format("LD_PRELOAD={} ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 RNNLAB_FAIL_BELOW={} "
                  "RNNLAB_FAIL_LOG={} \"$0\" train --quiet small.yaml --out {}",
                  RNNLAB_FAILING_SYSTEM, program.folder().parent_path().string(), log, out),
      0);
  const std::string calls = read_text(log);
  for (const std::string& folder : {out, out + "/small", only_run_in(out, "small").string()}) {
    const size_t made = calls.find("mkdir " + folder + "\n");
    ASSERT_NE(made, std::string::npos) << folder;
    EXPECT_NE(calls.find("fsync " + fs::path(folder).parent_path().string() + "\n", made), std::string::npos) << folder;
  }
}

INSTANTIATE_TEST_SUITE_P(Sometimes, FailingTraining,
                         ::testing::Values(TrainingFailure{"FullDisk", "ENOSPC", "0", false},
                                           TrainingFailure{"FullDiskFromThenOn", "ENOSPC", "1", false},
                                           TrainingFailure{"BadDisk", "EIO", "0", false},
                                           TrainingFailure{"Interruption", "EINTR", "0", true},
                                           TrainingFailure{"ShortWrites", "SHORT", "1", true}),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace rnnlab::testing
