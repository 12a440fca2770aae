// SPDX-License-Identifier: Apache-2.0
// Tests a sweep of 24 runs over four workers, any of which is killed at any time and started again: each run is
// completed exactly once. RNNLAB_SWEEP_ROUNDS=200 makes it a long run; RNNLAB_SEED=n selects different moments.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "app/program.h"
#include "base/system/locks.h"
#include "reliability/trained_run.h"
#include "runs/plan/plan.h"
#include "runs/plan/status.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr int kWorkers = 4;
constexpr const char* k24Seeds =
    "sweep: {seed: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24]}\n";

// The process of a worker, which is started again each time it has ended.
class SweepWorker {
 public:
  SweepWorker(fs::path folder, std::string sweep) : folder_(std::move(folder)), sweep_(std::move(sweep)) { start(); }
  ~SweepWorker() { end(SIGKILL); }
  SweepWorker(const SweepWorker&) = delete;
  SweepWorker& operator=(const SweepWorker&) = delete;

  void end(int signal) {
    if (process_ == 0) return;
    ::kill(process_, signal);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  void start_if_ended() {
    if (process_ != 0 && ::waitpid(process_, nullptr, WNOHANG) == process_) process_ = 0;
    if (process_ == 0) start();
  }
  void await_end() {
    int status = 0;
    if (process_ != 0) ::waitpid(process_, &status, 0);
    process_ = 0;
    EXPECT_EQ(status, 0) << read_text(folder_ / "workers.log");
  }

 private:
  void start() {
    process_ = ::fork();
    if (process_ != 0) return;
    if (::chdir(folder_.c_str()) != 0) ::_exit(126);
    const int log = ::open("workers.log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(log, stream);
    ::execl(RNNLAB_PROGRAM, "rnnlab", "sweep", "work", sweep_.c_str(), "--quiet", static_cast<char*>(nullptr));
    ::_exit(127);
  }

  const fs::path folder_;
  const std::string sweep_;
  pid_t process_ = 0;
};

class KilledSweep {
 public:
  KilledSweep(const Program& program, const std::string& name) : program_(program), name_(name) {
    program.run({"sweep", "plan", "small.yaml", "--out", name}, 0);
    plan_ = read_plan(folder());
  }

  void work_undisturbed() const {
    std::vector<std::unique_ptr<SweepWorker>> workers = start_workers(2);
    for (const auto& worker : workers) worker->await_end();
  }

  // Returns how many times a worker was ended.
  int work_under_kills(std::mt19937& random) const {
    std::vector<std::unique_ptr<SweepWorker>> workers = start_workers(kWorkers);
    int num_ended = 0;
    for (; !is_done() && num_ended < kMostEnds; ++num_ended) {
      std::this_thread::sleep_for(milliseconds(random() % 1500));
      workers[random() % kWorkers]->end(random() % 4 == 0 ? SIGTERM : SIGKILL);
      for (const auto& worker : workers) worker->start_if_ended();
    }
    for (const auto& worker : workers) worker->await_end();
    return num_ended;
  }

  std::map<std::string, TrainedRun> runs() const {
    std::map<std::string, TrainedRun> found;
    for (const PlannedTask& task : plan_.tasks)
      for (const PlannedRun& run : task.runs) found[run.folder] = read_trained_run(folder() / run.folder);
    return found;
  }

  bool is_done() const {
    return std::ranges::all_of(status_of_tasks(folder(), plan_),
                               [](const TaskStatus& status) { return status.state == TaskState::kDone; });
  }

  // Returns the folders that the plan does not name.
  std::set<std::string> other_names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder())) names.insert(entry.path().filename());
    for (const PlannedTask& task : plan_.tasks)
      for (const PlannedRun& run : task.runs) names.erase(run.folder);
    return names;
  }

  // A worker that is killed after the last write of a run leaves the run's lock file, which locks nothing.
  std::vector<std::string> leftovers_in_runs() const {
    std::vector<std::string> all;
    for (const PlannedTask& task : plan_.tasks)
      for (const PlannedRun& run : task.runs)
        for (const std::string& name : leftovers_in(folder() / run.folder))
          if (name != ".lock" || is_locked(folder() / run.folder)) all.push_back(run.folder + "/" + name);
    return all;
  }

 private:
  static constexpr int kMostEnds = 1000;

  fs::path folder() const { return program_.folder() / name_; }
  std::vector<std::unique_ptr<SweepWorker>> start_workers(int count) const {
    std::vector<std::unique_ptr<SweepWorker>> workers;
    for (int i = 0; i < count; ++i) workers.push_back(std::make_unique<SweepWorker>(program_.folder(), name_));
    return workers;
  }

  const Program& program_;
  const std::string name_;
  SweepPlan plan_;
};

TEST(SweepKill, EachRunEndsWholeExactlyOnce) {
  const int64_t num_rounds = number_from_environment("RNNLAB_SWEEP_ROUNDS", 2);
  std::mt19937 random(static_cast<uint32_t>(number_from_environment("RNNLAB_SEED", 1)));
  const Program program;
  program.write("small.yaml", std::string(kSmallYaml) + k24Seeds);
  const KilledSweep whole(program, "whole");
  whole.work_undisturbed();
  const std::map<std::string, TrainedRun> expected = whole.runs();
  ASSERT_EQ(expected.size(), 24U);
  int num_ended = 0;
  for (int64_t round = 0; round < num_rounds && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const std::string name = "sweep" + std::to_string(round);
    const KilledSweep sweep(program, name);
    num_ended += sweep.work_under_kills(random);
    EXPECT_TRUE(sweep.is_done());
    EXPECT_EQ(sweep.runs(), expected);
    EXPECT_EQ(sweep.other_names(), (std::set<std::string>{"claims", "sweep.json"}));
    EXPECT_EQ(sweep.leftovers_in_runs(), std::vector<std::string>{});
    fs::remove_all(program.folder() / name);
  }
  std::cout << num_rounds << " rounds, workers ended " << num_ended << " times\n";
}

}  // namespace
}  // namespace rnnlab::testing
