// SPDX-License-Identifier: Apache-2.0
// Saves while the system fails: each system call of a save fails in turn, once or from then on (failing_system.cpp).
// Then sends kill -9 at random moments of saving; RNNLAB_KILLS=1000 makes that a long run.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/system/temporary_folder.h"
#include "results/checkpoint/checkpoint.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/checkpoint/sample_checkpoint.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;

// A save by rnnlab_save_checkpoint (save_main.cpp), in a process of its own.
struct SaveRequest {
  std::filesystem::path folder;
  int first = 1;
  int last = 1;
  int hidden_size = 2;
  int keep = 2;
  std::map<std::string, std::string> environment = {};  // in addition to the tests' environment
  std::filesystem::path errors = "/dev/null";           // the file of stderr
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  return all;
}

// Returns the process.
int start_saving(const SaveRequest& request) {
  std::vector<std::string> arguments = {RNNLAB_SAVE_CHECKPOINT,
                                        request.folder.string(),
                                        std::to_string(request.first),
                                        std::to_string(request.last),
                                        std::to_string(request.hidden_size),
                                        std::to_string(request.keep)};
  std::vector<std::string> environment = environment_with(request.environment);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, request.errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  pid_t process = 0;
  EXPECT_EQ(::posix_spawn(&process, RNNLAB_SAVE_CHECKPOINT, &actions, nullptr, pointers(arguments).data(),
                          pointers(environment).data()),
            0);
  ::posix_spawn_file_actions_destroy(&actions);
  return process;
}

// Returns the exit code of the process, or 128 + the signal that killed it.
int finish(int process) {
  int status = 0;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  constexpr int kSignalBase = 128;
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

int save_in_process(const SaveRequest& request) { return finish(start_saving(request)); }

struct Failure {
  std::string how;
  std::string lasting = "0";
  bool is_survived = false;  // because the call is repeated
};

struct Scenario {
  std::string name;
  std::vector<int64_t> steps;  // that are there when step 3 is saved
};

// Step 3 is saved after 1 and 2, where keeping one removes 1; and again over the step 3 of an earlier attempt.
const std::vector<Scenario> kScenarios = {{"after", {1, 2}}, {"over", {1, 2, 3}}};

class FailingSystem : public ::testing::TestWithParam<std::tuple<Failure, Scenario>> {
 protected:
  // Makes the folder of checkpoints as it is before the save, with the leftover of an interrupted save.
  void prepare() const {
    fs::remove_all(checkpoints());
    for (const int64_t step : scenario().steps) save_checkpoint(checkpoints(), step, sample_contents(step));
    mark_best_checkpoint(checkpoints(), 1);
    write_text(checkpoints() / ".step-000003.tmp-1" / kModelFile, "left over");
    fs::remove(log());
  }

  int save_with_failure(int call) const {
    return save_in_process({.folder = checkpoints(),
                            .first = 3,
                            .last = 3,
                            .keep = 1,
                            .environment = {{"LD_PRELOAD", RNNLAB_FAILING_SYSTEM},
                                            {"ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0"},
                                            {"RNNLAB_FAIL_CALL", std::to_string(call)},
                                            {"RNNLAB_FAIL_HOW", failure().how},
                                            {"RNNLAB_FAIL_LASTING", failure().lasting},
                                            {"RNNLAB_FAIL_LOG", log().string()}},
                            .errors = errors()});
  }

  // `failed`: the first call that failed.
  void expect_clear_outcome(int exit_code, const std::string& failed) const {
    const std::string message = read_text(errors());
    if (failure().is_survived || is_check_of_older(failed)) {
      EXPECT_EQ(exit_code, 0) << message;
      EXPECT_EQ(message, "");
      EXPECT_EQ(latest_checkpoint(checkpoints()).place->step, 3);
      return;
    }
    const bool is_mark_unread = failed.find("open ") != std::string::npos && failed.ends_with("/best.json");
    EXPECT_EQ(exit_code, static_cast<int>(is_mark_unread ? ExitCode::kCheckpoint : ExitCode::kDevice)) << message;
    EXPECT_TRUE(message.starts_with("error: " + folder_.path().string()) && message.ends_with("\n")) << message;
    EXPECT_EQ(std::ranges::count(message, '\n'), 1) << message;
  }

  // Before an old checkpoint is removed, a newer one is verified; if it cannot be read, nothing is removed.
  static bool is_check_of_older(const std::string& failed) {
    return failed.find("open ") != std::string::npos && failed.find("/step-") != std::string::npos;
  }

  void expect_nothing_lost() const {
    EXPECT_GE(list_checkpoints(checkpoints()).back().step, 2);
    verify_checkpoint(checkpoints() / step_folder_name(2));
    for (const CheckpointPlace& place : list_checkpoints(checkpoints())) verify_checkpoint(place.path);
    EXPECT_TRUE(best_checkpoint(checkpoints()).has_value());
  }

  void expect_next_save_to_work() const {
    EXPECT_EQ(save_in_process({.folder = checkpoints(), .first = 4, .last = 4, .keep = 1}), 0);
    for (const auto& entry : fs::directory_iterator(checkpoints()))
      EXPECT_FALSE(is_leftover(entry.path().filename().string())) << entry.path();
  }

  const Failure& failure() const { return std::get<0>(GetParam()); }
  const Scenario& scenario() const { return std::get<1>(GetParam()); }
  fs::path checkpoints() const { return folder_.path() / "checkpoints"; }
  fs::path errors() const { return folder_.path() / "errors"; }
  fs::path log() const { return folder_.path() / "log"; }

 private:
  TemporaryFolder folder_;
};

TEST_P(FailingSystem, NeverCostsACheckpoint) {
  int call = 1;
  for (;; ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    prepare();
    const int exit_code = save_with_failure(call);
    const std::string log_text = read_text(log());
    const size_t failed = log_text.find("FAILED ");
    if (failed == std::string::npos) {
      EXPECT_EQ(exit_code, 0);
      break;
    }
    const std::string line = log_text.substr(failed, log_text.find('\n', failed) - failed);
    SCOPED_TRACE(line);
    expect_clear_outcome(exit_code, line);
    expect_nothing_lost();
    expect_next_save_to_work();
  }
  EXPECT_GT(call, 30);
  RecordProperty("calls_failed", call - 1);
}

std::string name_of_failure(const ::testing::TestParamInfo<std::tuple<Failure, Scenario>>& parameter) {
  const auto& [failure, scenario] = parameter.param;
  return failure.how + (failure.lasting == "1" ? "Lasting" : "") + "_" + scenario.name;
}

INSTANTIATE_TEST_SUITE_P(Every, FailingSystem,
                         ::testing::Combine(::testing::Values(Failure{"ENOSPC"}, Failure{"ENOSPC", "1"}, Failure{"EIO"},
                                                              Failure{"EIO", "1"}, Failure{"EINTR", "0", true},
                                                              Failure{"SHORT", "0", true}, Failure{"SHORT", "1", true}),
                                            ::testing::ValuesIn(kScenarios)),
                         name_of_failure);

// A checkpoint survives a loss of power because of the order of these calls.
TEST(SaveCheckpoint, SyncsEverythingBeforeItCounts) {
  const TemporaryFolder folder;
  const fs::path checkpoints = folder.path() / "checkpoints";
  ASSERT_EQ(save_in_process({.folder = checkpoints,
                             .environment = {{"LD_PRELOAD", RNNLAB_FAILING_SYSTEM},
                                             {"ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0"},
                                             {"RNNLAB_FAIL_LOG", folder.name("log")}}}),
            0);
  std::vector<std::string> order;
  std::istringstream log(read_text(folder.path() / "log"));
  for (std::string name, path; log >> name >> path;)
    if (name == "fsync" || name == "rename" || name == "mkdir")
      order.push_back(name + " " + fs::path(path).filename().string());
  for (std::string& line : order) line = std::regex_replace(line, std::regex("(tmp-|json\\.)[0-9]+"), "$1");
  const std::string run = folder.path().filename().string();
  EXPECT_EQ(order, (std::vector<std::string>{"mkdir checkpoints", "fsync " + run, "mkdir .step-000001.tmp-",
                                             "fsync model.safetensors", "fsync optimizer.safetensors",
                                             "fsync state.json", "fsync manifest.json", "fsync .step-000001.tmp-",
                                             "rename step-000001", "fsync checkpoints",
                                             // the mark of the best
                                             "fsync .best.json..tmp", "rename best.json", "fsync checkpoints"}));
}

int num_kills() {
  const char* wanted = std::getenv("RNNLAB_KILLS");
  return wanted == nullptr ? 30 : std::atoi(wanted);
}

bool has_leftovers(const fs::path& folder) {
  const auto entries = fs::directory_iterator(folder);
  return std::any_of(begin(entries), end(entries),
                     [](const auto& entry) { return is_leftover(entry.path().filename().string()); });
}

TEST(Kill, LosesNoCheckpointThatWasFinished) {
  const TemporaryFolder folder;
  const fs::path checkpoints = folder.path() / "checkpoints";
  save_checkpoint(checkpoints, 1, sample_contents(1));
  mark_best_checkpoint(checkpoints, 1);
  std::mt19937 random(1);
  std::uniform_int_distribution<useconds_t> microseconds(2'000, 80'000);
  int num_inside = 0;
  int64_t newest = 1;
  for (int kill = 0; kill < num_kills(); ++kill) {
    const int process = start_saving({.folder = checkpoints,
                                      .first = static_cast<int>(newest) + 1,
                                      .last = 1'000'000,
                                      .hidden_size = 300,
                                      .keep = 2});
    ::usleep(microseconds(random));
    ::kill(process, SIGKILL);
    ASSERT_EQ(finish(process), 128 + SIGKILL);
    const std::vector<CheckpointPlace> places = list_checkpoints(checkpoints);
    for (const CheckpointPlace& place : places) verify_checkpoint(place.path);
    ASSERT_GE(places.back().step, newest);
    EXPECT_TRUE(best_checkpoint(checkpoints).has_value());
    newest = places.back().step;
    num_inside += has_leftovers(checkpoints) ? 1 : 0;
  }
  EXPECT_EQ(save_in_process({.folder = checkpoints, .first = 1'000'001, .last = 1'000'001}), 0);
  EXPECT_FALSE(has_leftovers(checkpoints));
  std::cout << num_kills() << " kills, " << num_inside << " of them inside a save, " << newest << " saves\n";
  RecordProperty("inside_a_save", num_inside);
}

}  // namespace
}  // namespace rnnlab::testing
