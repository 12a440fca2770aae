// SPDX-License-Identifier: Apache-2.0
// Tests a run of two processes, one of which is killed, suspended, asked to stop, without its data, late, or on a full
// disk at any time. All processes end with the documented exit code, one line names the rank, no process remains, and
// the run resumes to the weights of an undisturbed run. RNNLAB_RANK_ENDINGS=1000 makes it a long run; RNNLAB_SEED=n
// selects different moments.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "app/program.h"
#include "base/error.h"
#include "base/numbers.h"
#include "reliability/trained_run.h"
#include "results/run_folder.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

const std::vector<std::string> kTrain = {"train",
                                         "small.yaml",
                                         "--quiet",
                                         "training.epochs=150",
                                         "checkpoint.every_steps=20",
                                         "checkpoint.every_epochs=0",
                                         "distributed={timeout: 2, start_timeout: 6}"};

enum class Starter { kRnnlab, kLauncher };
enum class Ending { kKilled, kSuspended, kAskedToStop, kWithoutData, kLate, kOnFullDisk };

struct Disturbance {
  Starter starter;
  Ending ending;
  int rank;  // which is disturbed
  milliseconds delay;
  int64_t disk_bytes;  // of its largest file on a full disk

  std::string text() const {
    constexpr const char* kNames[] = {"killed", "suspended", "asked to stop", "without data", "late", "full disk"};
    return fmt::format("{}, rank {} {} after {} ms ({} bytes)", starter == Starter::kRnnlab ? "rnnlab" : "launcher",
                       rank, kNames[static_cast<int>(ending)], delay.count(), disk_bytes);
  }
};

// Only rank 0 writes files, and all ranks that rnnlab starts have one environment.
Disturbance disturbance_number(int64_t number, std::mt19937& random) {
  constexpr Ending kEndings[] = {Ending::kKilled,      Ending::kSuspended, Ending::kAskedToStop,
                                 Ending::kWithoutData, Ending::kLate,      Ending::kOnFullDisk};
  Disturbance one{.starter = number / 6 % 2 == 0 ? Starter::kLauncher : Starter::kRnnlab,
                  .ending = kEndings[number % 6],
                  .rank = static_cast<int>(random() % 2),
                  .delay = milliseconds(random() % 1500),
                  .disk_bytes = static_cast<int64_t>(4096 * (1 + random() % 12))};
  const bool needs_launcher = one.ending == Ending::kWithoutData || one.ending == Ending::kOnFullDisk;
  if (needs_launcher) one.starter = Starter::kLauncher;
  if (one.ending == Ending::kOnFullDisk) one.rank = 0;
  return one;
}

std::vector<int> processes_in(const fs::path& folder) {
  std::vector<int> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::error_code ignored;
    const auto process = parse_int64(entry.path().filename().string());
    if (process && fs::read_symlink(entry.path() / "cwd", ignored) == folder)
      found.push_back(static_cast<int>(*process));
  }
  return found;
}

// Returns the size of all files in a folder.
uintmax_t bytes_in(const fs::path& folder) {
  std::error_code ignored;
  uintmax_t sum = 0;
  for (fs::recursive_directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    std::error_code is_gone;
    const uintmax_t size = entry->is_regular_file(is_gone) ? entry->file_size(is_gone) : 0;
    if (!is_gone) sum += size;
  }
  return sum;
}

// Both processes and their output, in one folder.
class DisturbedRun {
 public:
  DisturbedRun(const Program& program, const Disturbance& disturbance) : program_(program), is_(disturbance) {
    program.write("stderr.txt", "");
    if (is_.starter == Starter::kRnnlab)
      started_.push_back(start(-1));
    else
      for (int rank = 0; rank < 2; ++rank) started_.push_back(start(rank));
  }
  // Ends the processes that a failed expectation has left.
  ~DisturbedRun() {
    for (const int process : processes_in(program_.folder())) ::kill(process, SIGKILL);
    for (const int process : started_) ::waitpid(process, nullptr, WNOHANG);
  }
  DisturbedRun(const DisturbedRun&) = delete;
  DisturbedRun& operator=(const DisturbedRun&) = delete;

  void disturb() {
    if (is_.ending == Ending::kWithoutData || is_.ending == Ending::kOnFullDisk) return;
    if (is_.ending == Ending::kLate) {
      send(SIGSTOP);
      std::this_thread::sleep_for(milliseconds(1000));
      return send(SIGCONT);
    }
    std::this_thread::sleep_for(is_.delay);
    send(is_.ending == Ending::kKilled ? SIGKILL : is_.ending == Ending::kSuspended ? SIGSTOP : SIGTERM);
  }

  // Returns the exit codes of all processes that were started and not killed, or nothing if one does not end within a
  // minute in which the run makes no progress: on a busy machine a whole run can take longer.
  std::optional<std::vector<int>> exit_codes() {
    constexpr int kMostPolls = 6000;
    std::vector<int> codes;
    uintmax_t progress = 0;
    for (int poll = 0; poll < kMostPolls && !waits_only_for_suspended(); ++poll) {
      if (std::exchange(progress, bytes_in(program_.folder() / "runs")) != progress) poll = 0;
      std::erase_if(started_, [&](int process) { return take_end(process, codes); });
      std::this_thread::sleep_for(milliseconds(10));
    }
    const bool have_all_ended = waits_only_for_suspended();
    if (have_all_ended && !started_.empty()) end_suspended();
    return have_all_ended ? std::optional(codes) : std::nullopt;
  }

 private:
  int start(int rank) const {
    const int process = ::fork();
    if (process != 0) return process;
    if (::chdir(program_.folder().c_str()) != 0) ::_exit(126);
    const int log = ::open("stderr.txt", O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(log, stream);
    std::vector<std::string> arguments = kTrain;
    arguments.insert(arguments.begin(), "rnnlab");
    if (rank < 0) arguments.emplace_back("devices=2");
    if (rank >= 0) set_environment(rank);
    if (rank == is_.rank && is_.ending == Ending::kWithoutData)
      arguments.emplace_back("data={source: csv, path: missing.csv, target: [kind]}");
    const auto bytes = static_cast<rlim_t>(is_.disk_bytes);
    const rlimit limit{bytes, bytes};
    if (rank == is_.rank && is_.ending == Ending::kOnFullDisk) ::setrlimit(RLIMIT_FSIZE, &limit);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    ::execv(RNNLAB_PROGRAM, pointers.data());
    ::_exit(127);
  }

  // Starts the processes as torchrun does, except that rank 0 holds the store.
  void set_environment(int rank) const {
    const std::string number = std::to_string(rank), port = std::to_string(20'000 + ::getppid() % 10'000);
    for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) ::setenv(name, "2", 1);
    for (const char* name : {"RANK", "LOCAL_RANK"}) ::setenv(name, number.c_str(), 1);
    ::setenv("MASTER_ADDR", "127.0.0.1", 1);
    ::setenv("MASTER_PORT", port.c_str(), 1);
  }

  void send(int signal) {
    disturbed_ = is_.starter == Starter::kLauncher ? started_[static_cast<size_t>(is_.rank)] : child();
    if (disturbed_ != 0) ::kill(disturbed_, signal);
    is_suspended_ = signal == SIGSTOP;
  }

  int child() const {
    constexpr int kMostPolls = 1000;
    for (int poll = 0; poll < kMostPolls && ::kill(started_[0], 0) == 0; ++poll) {
      const std::vector<int> children = children_of(started_[0]);
      if (children.size() == 2 && has_begun(children.back())) return children[static_cast<size_t>(is_.rank)];
      std::this_thread::sleep_for(milliseconds(2));
    }
    return 0;
  }

  // Until then the parent waits within posix_spawn and does not run.
  bool has_begun(int child) const {
    const auto command_line = [](int process) { return read_text(fmt::format("/proc/{}/cmdline", process)); };
    return command_line(child) != command_line(started_[0]);
  }

  // Returns whether the process has ended.
  bool take_end(int process, std::vector<int>& codes) const {
    int status = 0;
    if (::waitpid(process, &status, WNOHANG) != process) return false;
    const bool was_killed = process == disturbed_ && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!was_killed) codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    return true;
  }

  bool waits_only_for_suspended() const {
    return started_.empty() || (started_.size() == 1 && started_[0] == disturbed_ && is_suspended_);
  }

  void end_suspended() {
    ::kill(started_[0], SIGKILL);
    ::waitpid(started_[0], nullptr, 0);
    started_.clear();
  }

  const Program& program_;
  const Disturbance is_;
  std::vector<int> started_;
  int disturbed_ = 0;
  bool is_suspended_ = false;
};

int expected_code(Ending ending) {
  switch (ending) {
    case Ending::kKilled:
    case Ending::kSuspended:
    case Ending::kOnFullDisk:
      return 4;
    case Ending::kAskedToStop:
      return 143;
    case Ending::kWithoutData:
      return 3;
    case Ending::kLate:
      return 0;
  }
  return 0;
}

class RankEndings : public ::testing::Test {
 protected:
  static TrainedRun trained_anew(const Program& program) {
    program.run(with(kTrain, {"devices=2"}), 0);
    return read_trained_run(only_run_in(program.folder() / "runs", "small"));
  }

  // A run that has not made a folder yet is trained again.
  TrainedRun resumed() const {
    const fs::path runs = program_.folder() / "runs";
    const auto run = begun_run_in(runs, "small");
    if (!run) {
      fs::remove_all(runs);
      return trained_anew(program_);
    }
    program_.run({"train", "--quiet", "--resume", run->string()}, 0);
    program_.run({"compare", run->string()}, 0);
    EXPECT_EQ(leftovers_in(*run), std::vector<std::string>{});
    return read_trained_run(*run);
  }

  void expect_end(const Disturbance& disturbance, const std::optional<std::vector<int>>& codes) {
    const std::string text = read_text(program_.folder() / "stderr.txt");
    ASSERT_TRUE(codes.has_value()) << "a process did not end\n" << text;
    // A signal that comes after the end of the run has its default action, which ends the process.
    const bool may_be_ended =
        disturbance.ending == Ending::kAskedToStop && text.find("the run reached training.") != std::string::npos;
    const bool was_done =
        std::ranges::all_of(*codes, [&](int code) { return code == 0 || (may_be_ended && code == -SIGTERM); });
    num_undisturbed_ += was_done ? 1 : 0;
    if (was_done && disturbance.ending != Ending::kWithoutData && disturbance.ending != Ending::kOnFullDisk) return;
    // Before the program has set its handler, a signal ends it by its default action.
    const bool was_before_handler =
        std::ranges::find(*codes, -SIGTERM) != codes->end() || text.find("ended by signal 15") != std::string::npos;
    const int expected = was_before_handler ? 4 : expected_code(disturbance.ending);
    EXPECT_THAT(*codes, ::testing::Each(::testing::AnyOf(expected, was_before_handler ? -SIGTERM : expected))) << text;
    if (disturbance.ending == Ending::kAskedToStop) return;
    EXPECT_EQ(lines_with(text, "error:").size(), 1U) << text;
    if (disturbance.ending != Ending::kKilled && disturbance.ending != Ending::kSuspended) return;
    const std::string place = has_saved() ? " of 2 \\(process [0-9]+ of .*, step [0-9]+\\)" : "";
    EXPECT_THAT(text, ::testing::ContainsRegex(fmt::format("rank {}{}", disturbance.rank, place)));
  }

  bool has_saved() const {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(program_.folder() / "runs" / "small", ignored))
      if (fs::exists(entry.path() / kCheckpointsFolder)) return true;
    return false;
  }

  const Program program_{kSmallYaml, "small.yaml"};
  int num_undisturbed_ = 0;
};

TEST_F(RankEndings, LoseNothingAndLeaveNothingBehind) {
  const int64_t count = number_from_environment("RNNLAB_RANK_ENDINGS", 6);
  std::mt19937 random(static_cast<uint32_t>(number_from_environment("RNNLAB_SEED", 1)));
  const TrainedRun expected = trained_anew(Program(kSmallYaml, "small.yaml"));
  for (int64_t i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
    const Disturbance disturbance = disturbance_number(i, random);
    SCOPED_TRACE(fmt::format("number {}: {}", i, disturbance.text()));
    {
      DisturbedRun run(program_, disturbance);
      run.disturb();
      expect_end(disturbance, run.exit_codes());
      EXPECT_THAT(processes_in(program_.folder()), ::testing::IsEmpty());
    }
    if (::testing::Test::HasFailure()) break;
    EXPECT_EQ(resumed(), expected);
    fs::remove_all(program_.folder() / "runs");
  }
  std::cout << count << " endings, of which " << num_undisturbed_ << " were at or after the end of the run\n";
}

}  // namespace
}  // namespace rnnlab::testing
