// SPDX-License-Identifier: Apache-2.0
// Tests obstacles of a run: other processes in its folder, a folder that is read-only, missing or a link, names that a
// shell would split.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>

#include <regex>

#include "app/program.h"
#include "base/text.h"
#include "reliability/trained_run.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/run_folder.h"

namespace rnnlab::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Obstacle : public ::testing::Test {
 protected:
  Obstacle() { program_.write("small.yaml", kSmallYaml); }

  // Trains a whole run and returns its folder.
  fs::path run() const {
    EXPECT_EQ(program_.run({"train", "-q", "small.yaml", "--out", out()}).exit_code, 0);
    return only_run_in(out(), "small");
  }

  // Trains a run of many epochs, and sends `signal` when the run has saved a checkpoint and `then` was called.
  ProgramResult run_long(int signal, const std::function<void(const fs::path& run)>& then,
                         const std::string& out) const {
    return program_.run_and_signal({"train", "small.yaml", "training.epochs=100000", "--out", out}, signal, [&] {
      std::error_code ignored;
      for (const auto& entry : fs::directory_iterator(fs::path(out) / "small", ignored))
        if (!entry.is_symlink() && fs::exists(entry.path() / kCheckpointsFolder / kBestMark)) {
          then(entry.path());
          return true;
        }
      return false;
    });
  }

  ProgramResult resume(const fs::path& run) const { return program_.run({"train", "-q", "--resume", run.string()}); }
  // Resumes a run that has ended, and trains some more epochs.
  ProgramResult prolong(const fs::path& run) const {
    return program_.run({"train", "-q", "--resume", run.string(), "training.epochs=9"});
  }

  // The comparison ignores digits, for example of processes and times.
  static std::string without_digits(const std::string& text) {
    return std::regex_replace(text, std::regex("[0-9]+"), "N");
  }

  static void expect_error_line(const ProgramResult& result, int exit_code, const std::string& line) {
    EXPECT_EQ(result.exit_code, exit_code);
    EXPECT_THAT(without_digits(result.errors), HasSubstr(without_digits("rnnlab: error: " + line + "\n")));
  }

  const Program& program() const { return program_; }
  std::string out() const { return (program_.folder() / "out").string(); }

 private:
  static constexpr const char* kBestMark = "best.json";
  Program program_;
};

TEST_F(Obstacle, ASecondProcessInTheFolder) {
  ProgramResult second;
  std::string folder;
  const auto first = run_long(
      SIGTERM,
      [&](const fs::path& run) {
        const Program other;
        folder = fs::canonical(run).string();
        second = other.run({"train", "-q", "--resume", folder});
      },
      out());
  EXPECT_EQ(first.exit_code, 143) << first.errors;
  expect_error_line(second, 4, folder + ": another process uses this folder; wait until it ends, or stop it");
}

TEST_F(Obstacle, AFolderThatIsGoneMidway) {
  const auto result = run_long(
      0, [](const fs::path& run) { fs::rename(run, run.string() + ".away"); }, out());
  const std::string run = only_run_in(out(), "small").string();
  ASSERT_TRUE(run.ends_with(".away"));
  EXPECT_EQ(result.exit_code, 4);
  const std::string begin = "rnnlab: error: " + run.substr(0, run.size() - 5) + "/";
  EXPECT_THAT(result.errors, AllOf(HasSubstr(begin), HasSubstr(": No such file or ")))
      << "the message depends on the file that is opened first";
  EXPECT_NO_THROW(read_trained_run(run)) << "the earlier checkpoint remains";
}

TEST_F(Obstacle, AReadOnlyFolder) {
  if (::geteuid() != 0 || ::unshare(CLONE_NEWNS) != 0) GTEST_SKIP() << "needs root, to mount a file system";
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) GTEST_SKIP() << "/ is not a mount point";
  fs::create_directory(out());
  if (::mount("none", out().c_str(), "tmpfs", 0, "size=4m") != 0) GTEST_SKIP() << "needs the right to mount";
  const fs::path whole = run();
  const TrainedRun before = read_trained_run(whole);
  ASSERT_EQ(::mount("none", out().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  expect_error_line(prolong(whole), 4, whole.string() + "/.lock: cannot make: Read-only file system");
  const ProgramResult another = program().run({"train", "-q", "small.yaml", "--out", out()}, 4);
  // The name has the same second or the next one.
  EXPECT_THAT(another.errors,
              AllOf(HasSubstr("rnnlab: error: " + out() + "/small/"), HasSubstr(": Read-only file system; ")));
  EXPECT_EQ(read_trained_run(whole), before);
  ::umount2(out().c_str(), MNT_DETACH);
}

TEST_F(Obstacle, ALinkInTheFoldersPlaceIsFollowedToTheRun) {
  const fs::path whole = run();
  const TrainedRun before = read_trained_run(whole);
  fs::create_symlink(whole, program().folder() / "link");
  EXPECT_EQ(resume(program().folder() / "link").exit_code, 0);
  EXPECT_EQ(read_trained_run(whole), before);
}

TEST_F(Obstacle, ALinkInThePlaceOfWhatARunWrites) {
  const fs::path whole = run();
  const fs::path elsewhere = program().folder() / "elsewhere";
  fs::rename(whole / kLogFile, elsewhere);
  fs::create_symlink(elsewhere, whole / kLogFile);
  const std::string before = read_text(elsewhere);
  expect_error_line(prolong(whole), 4, (whole / kLogFile).string() + ": is a link, expected a file; remove it");
  EXPECT_EQ(read_text(elsewhere), before) << "nothing is written outside of the folder";
  fs::remove(whole / kLogFile);

  fs::rename(whole / kCheckpointsFolder, program().folder() / "checkpoints");
  fs::create_symlink(program().folder() / "checkpoints", whole / kCheckpointsFolder);
  expect_error_line(prolong(whole), 4,
                    (whole / kCheckpointsFolder).string() + ": is a link or a file, expected a folder; remove it");
}

TEST_F(Obstacle, NamesThatAShellWouldSplit) {
  const std::string odd = (program().folder() / "a b\nc'd $HOME").string();
  const auto stopped = run_long(
      SIGINT, [](const fs::path&) {}, odd);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.errors;
  const std::string begin = "to resume: rnnlab";
  const size_t line = stopped.errors.find(begin);
  ASSERT_NE(line, std::string::npos) << stopped.errors;
  const std::string command = "\"$0\"" + stopped.errors.substr(line + begin.size());
  program().run_in_shell(command.substr(0, command.find_last_not_of('\n') + 1) + " training.epochs=1", 0);
}

// The line is shown without the control characters, and still names the folder.
TEST_F(Obstacle, NamesThatATerminalWouldObey) {
  const std::string odd = (program().folder() / "a\x1b[31m'b\\\n\u202ec").string();
  const auto stopped = run_long(
      SIGINT, [](const fs::path&) {}, odd);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.errors;
  EXPECT_EQ(without_controls(stopped.errors), stopped.errors);
  const std::string begin = "to resume: rnnlab";
  const size_t line = stopped.errors.find(begin);
  ASSERT_NE(line, std::string::npos) << stopped.errors;
  const std::string command = stopped.errors.substr(line + begin.size());
  program().write("resume.sh", "\"$1\" " + command.substr(0, command.find('\n')) + " training.epochs=1\n");
  program().run_in_shell("bash resume.sh \"$0\"", 0);
}

}  // namespace
}  // namespace rnnlab::testing
