// SPDX-License-Identifier: Apache-2.0
#include "runs/plan/claim.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "base/expect_error.h"
#include "base/system/json_fields.h"
#include "base/system/temporary_folder.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char* kTask = "0007";

// A worker on a machine whose processes cannot be inspected from here.
ClaimRecord record_of_another_machine() {
  ClaimRecord record{.worker = this_worker(), .since = "2026-11-21T02:59:51Z", .ended = ""};
  record.worker.host = "node7";
  record.worker.boot = "another";
  return record;
}

void set_age(const fs::path& file, int64_t seconds) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const timespec then = {.tv_sec = now.tv_sec - seconds, .tv_nsec = now.tv_nsec};
  const timespec times[2] = {then, then};
  ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
}

class ClaimOnTask : public ::testing::Test {
 protected:
  fs::path file(int64_t number) const { return folder_.path() / (std::string(kTask) + "." + std::to_string(number)); }

  std::unique_ptr<Claim> take(const ClaimTiming& timing = {}) const {
    return Claim::take(folder_.path(), kTask, timing);
  }

  void write_claim(int64_t number, const ClaimRecord& record, int64_t age_in_seconds) const {
    write_record(file(number), record);
    set_age(file(number), age_in_seconds);
  }

  // How many of 16 processes that try at one moment get it.
  int num_winners() const {
    int start[2], hold[2];
    EXPECT_EQ(::pipe(start) + ::pipe(hold), 0);
    constexpr int kProcesses = 16;
    std::vector<pid_t> processes;
    for (int i = 0; i < kProcesses; ++i)
      if (processes.emplace_back(::fork()) == 0) {
        ::close(start[1]);
        ::close(hold[1]);
        char ignored = 0;
        [[maybe_unused]] ssize_t got = ::read(start[0], &ignored, 1);
        const auto claim = take();
        // The winner holds it until all others have tried.
        if (claim != nullptr) got = ::read(hold[0], &ignored, 1);
        ::_exit(claim != nullptr ? 1 : 0);
      }
    ::close(start[1]);
    int winners = 0;
    for (int i = 0; i < kProcesses - 1; ++i) winners += exit_code_of_next();
    ::close(hold[1]);
    winners += exit_code_of_next();
    ::close(start[0]);
    ::close(hold[0]);
    return winners;
  }

  const TemporaryFolder folder_;

 private:
  static int exit_code_of_next() {
    int status = 0;
    ::wait(&status);
    return WEXITSTATUS(status);
  }
};

bool becomes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(10));
  return condition();
}

TEST_F(ClaimOnTask, IsHeldByOneAtATime) {
  auto first = take();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(take(), nullptr);
  EXPECT_EQ(holder_of(folder_.path(), kTask)->worker, this_worker());
  first.reset();
  EXPECT_FALSE(holder_of(folder_.path(), kTask));
  EXPECT_NE(take(), nullptr);
}

TEST_F(ClaimOnTask, LeavesThatOfAnotherTaskAlone) {
  const auto first = take();
  EXPECT_NE(Claim::take(folder_.path(), "0008"), nullptr);
}

TEST_F(ClaimOnTask, LeavesOnlyItsOwnFiles) {
  for (int i = 0; i < 3; ++i) take();
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_.path())) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"0007.1", "0007.2", "0007.3"}));
}

TEST_F(ClaimOnTask, HasOneWinner) {
  for (int round = 0; round < 20; ++round) EXPECT_EQ(num_winners(), 1) << "round " << round;
}

TEST_F(ClaimOnTask, HasOneWinnerAfterAWorkerThatDied) {
  write_claim(1, record_of_another_machine(), 601);
  EXPECT_EQ(num_winners(), 1);
}

TEST_F(ClaimOnTask, IsFreeAtOnceIfItsProcessWasKilled) {
  const pid_t process = ::fork();
  if (process == 0) {
    const auto claim = take();
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(process, nullptr, 0);
  ASSERT_TRUE(fs::exists(file(1)));
  EXPECT_FALSE(holder_of(folder_.path(), kTask));
  EXPECT_NE(take(), nullptr);
}

TEST_F(ClaimOnTask, OfAnotherMachineHoldsForTenMinutesWithoutATouch) {
  write_claim(1, record_of_another_machine(), 590);
  EXPECT_EQ(take(), nullptr);
  EXPECT_EQ(describe(holder_of(folder_.path(), kTask)->worker), "node7, process " + std::to_string(::getpid()));
  set_age(file(1), 601);
  EXPECT_FALSE(holder_of(folder_.path(), kTask));
  EXPECT_NE(take(), nullptr);
}

TEST_F(ClaimOnTask, OfAnotherMachineIsFreeAtOnceAfterRelease) {
  ClaimRecord record = record_of_another_machine();
  record.ended = "2026-11-21T03:00:00Z";
  write_claim(1, record, 0);
  EXPECT_NE(take(), nullptr);
}

TEST_F(ClaimOnTask, OfAnotherContainerOfThisMachineCannotBeJudgedByItsProcess) {
  ClaimRecord record{.worker = this_worker(), .since = "", .ended = ""};
  record.worker.process_space = "pid:[1]";
  record.worker.started = 1;
  write_claim(1, record, 0);
  EXPECT_EQ(take(), nullptr);
}

TEST_F(ClaimOnTask, ThatCannotBeReadHoldsUntilItsTimeIsOver) {
  write_text(file(1), "");
  EXPECT_EQ(take(), nullptr);
  set_age(file(1), 601);
  EXPECT_NE(take(), nullptr);
}

TEST_F(ClaimOnTask, CountsOnlyItsNewestFile) {
  write_claim(1, record_of_another_machine(), 1000);
  write_claim(2, record_of_another_machine(), 0);
  EXPECT_EQ(take(), nullptr);
  EXPECT_TRUE(holder_of(folder_.path(), kTask));
  set_age(file(2), 1000);
  EXPECT_NE(take(), nullptr);
  EXPECT_TRUE(fs::exists(file(3)));
}

TEST_F(ClaimOnTask, IsTouchedWhileItIsHeld) {
  const auto claim = take({.touch_every = milliseconds(20)});
  set_age(file(1), 1000);
  EXPECT_TRUE(becomes_true(
      [&] { return fs::file_time_type::clock::now() - fs::last_write_time(file(1)) < std::chrono::seconds(900); }));
}

TEST_F(ClaimOnTask, NoticesThatItWasTakenOver) {
  auto claim = take({.touch_every = milliseconds(20)});
  EXPECT_FALSE(claim->is_lost());
  write_claim(2, record_of_another_machine(), 0);
  EXPECT_TRUE(becomes_true([&] { return claim->is_lost(); }));
  claim.reset();
  EXPECT_EQ(take(), nullptr) << "the claim of the other machine stays";
}

TEST_F(ClaimOnTask, NeedsItsFolder) {
  message_of_error(ExitCode::kDevice, [&] { Claim::take(folder_.path() / "absent", kTask); });
}

}  // namespace
}  // namespace rnnlab::testing

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

TEST(WorkerId, OfAZombieHasEnded) {
  const OtherProcess other;
  other.kill();
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(other.worker().process), &ended, WEXITED | WNOWAIT);
  EXPECT_TRUE(has_ended(other.worker()));
}

TEST(WorkerId, DistinguishesALaterProcessWithTheSameNumber) {
  WorkerId earlier = this_worker();
  earlier.started -= 1;
  EXPECT_TRUE(has_ended(earlier));
}

TEST(WorkerId, DoesNotJudgeProcessesThatItCannotInspect) {
  OtherProcess other;
  WorkerId worker = other.worker();
  other.end();
  for (std::string WorkerId::*member : {&WorkerId::host, &WorkerId::boot, &WorkerId::process_space}) {
    WorkerId elsewhere = worker;
    elsewhere.*member = "another";
    EXPECT_FALSE(has_ended(elsewhere));
  }
}

TEST(WorkerId, SharesCpusWithAProcessThatMayUseTheSame) {
  const OtherProcess other;
  EXPECT_TRUE(shares_cpus(other.worker()));
  cpu_set_t all, first, others;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is one CPU";
  CPU_ZERO(&first);
  for (int cpu = 0; CPU_COUNT(&first) == 0; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &first);
  CPU_XOR(&others, &all, &first);
  ASSERT_EQ(::sched_setaffinity(static_cast<pid_t>(other.worker().process), sizeof first, &first), 0);
  EXPECT_TRUE(shares_cpus(other.worker()));
  ::sched_setaffinity(0, sizeof others, &others);
  EXPECT_FALSE(shares_cpus(other.worker()));
  ::sched_setaffinity(0, sizeof all, &all);
}

TEST(DecideOnce, GivesAllCallersTheFirstText) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(decide_once(folder.path(), "number", "4\n"), "4\n");
  EXPECT_EQ(decide_once(folder.path(), "number", "8\n"), "4\n");
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

TEST(StartInStat, IsFoundAfterANameWithParentheses) {
  EXPECT_EQ(start_in_stat("12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 999 20"), 999);
  EXPECT_EQ(start_in_stat("12 (a) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 999 20"), 0) << "has ended";
  EXPECT_EQ(start_in_stat(""), 0);
  EXPECT_EQ(start_in_stat("12 (a) S 1"), 0);
}

}  // namespace
}  // namespace rnnlab
