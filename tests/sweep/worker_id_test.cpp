#include "sweep/worker_id.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rnnlab {
namespace {

// A process that waits for its end, and the name that it has for others.
class OtherProcess {
 public:
  OtherProcess() : process_(::fork()) {
    if (process_ == 0)
      for (;;) ::pause();
    worker_ = this_worker();
    worker_.process = process_;
    worker_.started = start_of_other();
  }
  ~OtherProcess() { end(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  const WorkerId& worker() const { return worker_; }
  void kill() const { ::kill(process_, SIGKILL); }
  void end() {
    if (process_ == 0) return;
    kill();
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  int64_t start_of_other() const {
    char text[4096] = {};
    FILE* file = ::fopen(("/proc/" + std::to_string(process_) + "/stat").c_str(), "r");
    const size_t size = ::fread(text, 1, sizeof text, file);
    ::fclose(file);
    return start_in_stat({text, size});
  }

  pid_t process_;
  WorkerId worker_;
};

TEST(WorkerId, NamesThisProcess) {
  const WorkerId worker = this_worker();
  EXPECT_EQ(worker.process, ::getpid());
  EXPECT_GT(worker.started, 0);
  EXPECT_FALSE(has_ended(worker));
}

TEST(WorkerId, ShowsAtOnceThatItsProcessHasEnded) {
  OtherProcess other;
  EXPECT_FALSE(has_ended(other.worker()));
  const WorkerId worker = other.worker();
  other.end();
  EXPECT_TRUE(has_ended(worker));
}

TEST(WorkerId, OfAProcessWhoseParentHasNotAskedForItsEndHasEndedToo) {
  const OtherProcess other;
  other.kill();
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(other.worker().process), &ended, WEXITED | WNOWAIT);
  EXPECT_TRUE(has_ended(other.worker()));
}

TEST(WorkerId, TellsAProcessFromALaterOneWithTheSameNumber) {
  WorkerId earlier = this_worker();
  earlier.started -= 1;
  EXPECT_TRUE(has_ended(earlier));
}

TEST(WorkerId, SaysNothingOfProcessesThatCannotBeSeenFromHere) {
  OtherProcess other;
  WorkerId worker = other.worker();
  other.end();
  for (std::string WorkerId::*member : {&WorkerId::host, &WorkerId::boot, &WorkerId::process_space}) {
    WorkerId elsewhere = worker;
    elsewhere.*member = "another";
    EXPECT_FALSE(has_ended(elsewhere));
  }
}

TEST(WorkerId, NamesTheJobOfAScheduler) {
  ::setenv("SLURM_JOB_ID", "4712", 1);
  EXPECT_EQ(this_worker().job, "Slurm job 4712");
  ::setenv("SLURM_ARRAY_JOB_ID", "4711", 1);
  ::setenv("SLURM_ARRAY_TASK_ID", "7", 1);
  EXPECT_EQ(this_worker().job, "Slurm job 4711_7");
  for (const char* name : {"SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"}) ::unsetenv(name);
  EXPECT_EQ(this_worker().job, "");
}

TEST(WorkerId, IsDescribedForPeople) {
  const WorkerId worker = {
      .host = "node7", .boot = "", .process_space = "", .process = 4711, .started = 0, .job = "Slurm job 12_3"};
  EXPECT_EQ(describe(worker), "node7, process 4711, Slurm job 12_3");
}

TEST(StartInStat, IsFoundBehindANameWithParentheses) {
  EXPECT_EQ(start_in_stat("12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 999 20"), 999);
  EXPECT_EQ(start_in_stat("12 (a) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 999 20"), 0) << "has ended";
  EXPECT_EQ(start_in_stat(""), 0);
  EXPECT_EQ(start_in_stat("12 (a) S 1"), 0);
}

}  // namespace
}  // namespace rnnlab
