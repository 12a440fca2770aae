// SPDX-License-Identifier: Apache-2.0
// Tests promise R1 of docs/reliability.md: sends kill -9 at random moments of training and resumes until the run is
// complete; then the next run follows. RNNLAB_KILLS=1000 makes it a long run; RNNLAB_SEED=n selects different moments.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <random>
#include <thread>

#include "app/program.h"
#include "reliability/trained_run.h"
#include "results/checkpoint/checkpoint.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::microseconds;
using std::chrono::steady_clock;

// The run has 390 steps and gets about thirty kills; the last epoch is shorter.
const std::vector<std::string> kLonger = {"training.epochs=20", "training.max_steps=390", "data.num_train=240",
                                          "data.num_valid=12", "model.hidden_size=32"};

std::vector<std::string> training(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"train", "--quiet"});
  return arguments;
}

std::vector<std::string> training_anew(const std::string& out) {
  std::vector<std::string> arguments = {"small.yaml", "--out", out};
  arguments.insert(arguments.end(), kLonger.begin(), kLonger.end());
  return training(arguments);
}

// One run that is killed many times.
class KilledRun {
 public:
  KilledRun(const Program& program, std::string out, std::mt19937& random)
      : program_(program), out_(std::move(out)), random_(random) {}

  // Returns false if the run has ended.
  bool kill_once() {
    if (is_done()) return false;
    const Moment moment = random_moment();
    const auto begin = steady_clock::now();
    const auto result = program_.run_and_signal(arguments(), SIGKILL, [&] {
      if (moment == Moment::kAnywhere) {
        std::this_thread::sleep_until(begin + random_pause(600'000));
        return true;
      }
      if (is_done()) return true;
      if (newest() <= newest_) return false;  // so that the run makes progress
      if (moment == Moment::kInsideASave) return await_save();
      std::this_thread::sleep_for(random_pause(120'000));
      return true;
    });
    if (result.exit_code == 0) return false;
    EXPECT_EQ(result.exit_code, -SIGKILL) << result.errors;
    return true;
  }

  void check_checkpoints() {
    if (!has_begun()) return;
    for (const CheckpointPlace& place : list_checkpoints(checkpoints())) verify_checkpoint(place.path);
    EXPECT_GE(newest(), newest_) << "a finished checkpoint was lost";
    newest_ = newest();
    num_inside_ += is_inside_save() ? 1 : 0;
  }

  TrainedRun finish() {
    program_.run(arguments(), 0);
    EXPECT_EQ(leftovers_in(folder()), std::vector<std::string>{});
    return read_trained_run(folder());
  }

  int64_t num_inside() const { return num_inside_; }

 private:
  enum class Moment { kAnywhere, kAfterASave, kInsideASave };

  Moment random_moment() {
    const auto number = random_() % 5;
    if (number == 0) return Moment::kAnywhere;
    return number % 2 == 0 ? Moment::kAfterASave : Moment::kInsideASave;
  }

  microseconds random_pause(uint32_t most) { return microseconds(random_() % most); }

  // Checks the folder repeatedly for a while.
  bool await_save() {
    const auto end = steady_clock::now() + std::chrono::milliseconds(50);
    while (!is_inside_save())
      if (steady_clock::now() > end) return false;
    std::this_thread::sleep_for(random_pause(500));
    return true;
  }

  // A folder without config.yaml is not a run yet: the process was killed before.
  bool has_begun() {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(program_.folder() / out_ / "small", ignored))
      if (!entry.is_symlink() && fs::exists(entry.path() / kConfigFile)) folder_ = entry.path();
    return !folder_.empty();
  }

  std::vector<std::string> arguments() {
    return has_begun() ? training({"--resume", folder().string()}) : training_anew(out_);
  }

  bool is_done() { return has_begun() && fs::exists(folder() / kSummaryFile); }

  int64_t newest() {
    const auto places = has_begun() ? list_checkpoints(checkpoints()) : std::vector<CheckpointPlace>{};
    return places.empty() ? 0 : places.back().step;
  }

  bool is_inside_save() const {
    std::error_code ignored;
    const auto entries = fs::directory_iterator(checkpoints(), ignored);
    return std::any_of(begin(entries), end(entries),
                       [](const auto& entry) { return is_leftover(entry.path().filename().string()); });
  }

  const fs::path& folder() const { return folder_; }
  fs::path checkpoints() const { return folder() / kCheckpointsFolder; }

  const Program& program_;
  std::string out_;
  std::mt19937& random_;
  fs::path folder_;
  int64_t newest_ = 0;
  int64_t num_inside_ = 0;
};

TEST(Kill, LosesNothingAndTheRunEndsAsIfItHadNeverBeenInterrupted) {
  const int64_t wanted = number_from_environment("RNNLAB_KILLS", 12);
  std::mt19937 random(static_cast<uint32_t>(number_from_environment("RNNLAB_SEED", 1)));
  const Program program;
  program.write("small.yaml", kSmallYaml);
  ASSERT_EQ(program.run(training_anew("whole")).exit_code, 0);
  const TrainedRun whole = read_trained_run(only_run_in(program.folder() / "whole", "small"));
  ASSERT_EQ(whole.csv_epochs.size(), 20U);

  int64_t num_kills = 0;
  int64_t num_inside = 0;
  int64_t num_runs = 0;
  for (; num_kills < wanted && !::testing::Test::HasFailure(); ++num_runs) {
    SCOPED_TRACE("run " + std::to_string(num_runs));
    KilledRun run(program, "out" + std::to_string(num_runs), random);
    while (num_kills < wanted && run.kill_once()) {
      ++num_kills;
      run.check_checkpoints();
    }
    EXPECT_EQ(run.finish(), whole);
    num_inside += run.num_inside();
  }
  std::cout << num_kills << " kills of " << num_runs << " runs, " << num_inside << " of them inside a save\n";
  RecordProperty("inside_a_save", static_cast<int>(num_inside));
}

}  // namespace
}  // namespace rnnlab::testing
