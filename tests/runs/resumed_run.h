// SPDX-License-Identifier: Apache-2.0
// A run that is stopped and resumed, for tests of resuming runs and sweeps.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sstream>

#include "base/expect_error.h"
#include "base/system/locks.h"
#include "base/system/temporary_folder.h"
#include "results/checkpoint/checkpoint.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/computed_values.h"
#include "results/epoch_log.h"
#include "results/run_folder.h"
#include "runs/resume.h"
#include "runs/tiny_experiment.h"

namespace rnnlab::testing {

namespace fs = std::filesystem;

// These settings give three epochs of four steps, with dropout and a checkpoint at the end of each epoch.
inline const Words kExact = {"deterministic=true", "training.num_threads=1", "model.output_dropout=0.3",
                             "checkpoint.every_seconds=0"};

inline Words exactly(const Words& more = {}) { return with(kExact, more); }

// Raises SIGTERM after a step of a run, the first run or a later one.
class StopAtStep : public Observer {
 public:
  explicit StopAtStep(int64_t step, int run = 1) : step_(step), run_(run) {}
  void on_run_begin(const RunPlan&) override { --run_; }
  void on_step(const StepProgress& progress) override {
    if (run_ == 0 && progress.step == step_) std::raise(SIGTERM);
  }
  bool needs_sync_at(int64_t step) const override { return run_ == 0 && step == step_; }

 private:
  int64_t step_;
  int run_;
};

struct FinalState {
  std::string model;
  std::string optimizer;
  std::vector<std::string> epochs;  // computed values, not measured ones
  std::vector<std::string> json_epochs;

  bool operator==(const FinalState&) const = default;
};

inline std::vector<std::string> first_fields(const std::string& jsonl) {
  std::vector<std::string> fields;
  std::istringstream lines(jsonl);
  for (std::string line; std::getline(lines, line);) fields.push_back(line.substr(0, line.find("\"learning_rate\"")));
  return fields;
}

inline FinalState final_state(const fs::path& run) {
  const auto newest = list_checkpoints(run / kCheckpointsFolder).back();
  const Manifest manifest = verify_checkpoint(newest.path);
  FinalState state{manifest.files.at(kModelFile).sha256, manifest.files.at(kOptimizerFile).sha256, {}, {}};
  for (const EpochRow& row : read_epochs(run)) state.epochs.push_back(computed_values(row));
  state.json_epochs = first_fields(read_text(run / kEpochsJsonlFile));
  return state;
}

inline void flip_a_byte(const fs::path& file) {
  std::string bytes = read_text(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_text(file, bytes);
}

class ResumedRun : public ::testing::Test {
 protected:
  RunAllOutcome train(const std::string& yaml, const std::vector<std::string>& overrides,
                      const std::vector<Observer*>& observers = {}) {
    return run_all(cases_of(yaml, overrides), request(observers), logger_);
  }

  // Returns the folder of a run that is complete or was stopped after step `stop_at`.
  fs::path run(const std::vector<std::string>& overrides, std::optional<int64_t> stop_at = std::nullopt) {
    StopAtStep stop(stop_at.value_or(-1));
    const auto all = train(kTinyYaml, overrides, {&stop});
    EXPECT_EQ(all.exit_code, stop_at ? ExitCode::kTerminated : ExitCode::kDone);
    return all.finished.at(0).folder;
  }

  RunAllOutcome resume(const fs::path& what, const std::vector<std::string>& overrides = {},
                       const std::vector<Observer*>& observers = {}) {
    return resume_all(what, overrides, request(observers), logger_);
  }

  void expect_refusal(ExitCode exit_code, const fs::path& run, const std::vector<std::string>& overrides = {}) {
    expect_error(exit_code, [&] { resume_experiment(run, overrides, request({}), logger_); });
    logger_.close_file();
  }

  const fs::path& out() const { return out_.path(); }

 private:
  RunRequest request(const std::vector<Observer*>& observers) const {
    return {.out = out_.path(), .observers = observers};
  }

  TemporaryFolder out_;
  Logger logger_{Verbosity::kQuiet, Terminal{}};
};

}  // namespace rnnlab::testing
