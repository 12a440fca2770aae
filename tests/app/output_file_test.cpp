// SPDX-License-Identifier: Apache-2.0
// Tests how verbs handle the names of output files that the user gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "app/program.h"
#include "golden.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::kTinyYaml;
using testing::Program;
using testing::read_text;

using Words = std::vector<std::string>;

mode_t mode_of(const fs::path& file) {
  struct stat status {};
  ::stat(file.c_str(), &status);
  return status.st_mode & 07777;
}

// A verb that writes a file, and its advice if it cannot.
struct Writer {
  Words command;  // the name of the file follows
  std::string ending;
  std::string advice;
};

class OutputFile : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    program_ = new Program;
    program_->write("tiny.yaml", kTinyYaml);
    ASSERT_EQ(program_->run({"train", "tiny.yaml", "-q"}).exit_code, 0);
  }
  static void TearDownTestSuite() {
    delete program_;
    program_ = nullptr;
  }

  const Program& program() const { return *program_; }
  std::string run() const { return program().run_folders("tiny").at(0); }
  std::vector<Writer> writers() const {
    const Words bench = {"bench",        "hidden_size=2", "num_layers=1", "num_steps=2",
                         "batch_size=1", "repeats=2",     "device=cpu",   "-q"};
    const auto bench_with = [&](const std::string& option) {
      Words words = bench;
      words.push_back(option);
      return words;
    };
    const std::string table = "without --csv and --json the table is printed to standard output";
    const std::string print = "remove --out to print to standard output";
    return {{{"convert", run(), "-o"}, ".safetensors", "name an ordinary file; weights cannot be printed"},
            {{"predict", run(), "--out"}, ".csv", print},
            {{"predict", run(), "--out"}, ".jsonl", print},
            {{"predict", run(), "--out"}, ".npy", print},
            {{"report", run(), "-o"}, ".html", "name an ordinary file; --markdown prints to standard output"},
            {bench_with("--json"), ".json", table},
            {bench_with("--csv"), ".csv", table}};
  }
  testing::ProgramResult write(const Writer& writer, const std::string& file) const {
    Words words = writer.command;
    words.push_back(file);
    return program().run(words);
  }

 private:
  static inline Program* program_ = nullptr;
};

TEST_F(OutputFile, KeepsItsModeAndIsFoundThroughLinks) {
  int number = 0;
  for (const Writer& writer : writers()) {
    const std::string file = "kept" + std::to_string(number++) + writer.ending, link = "link to " + file;
    program().write(file, "old");
    ::chmod((program().folder() / file).c_str(), 0600);
    fs::create_symlink(file, program().folder() / link);
    const auto result = write(writer, link);
    EXPECT_EQ(result.exit_code, 0) << file << result.errors;
    EXPECT_NE(read_text(program().folder() / file), "old") << file;
    EXPECT_EQ(mode_of(program().folder() / file), 0600U) << file;
    EXPECT_TRUE(fs::is_symlink(program().folder() / link)) << file;
  }
}

// /proc/self/fd/1 is the file of standard output here, in which no verb can do harm.
TEST_F(OutputFile, IsNotAPipeDeviceOrStream) {
  int number = 0;
  for (const Writer& writer : writers()) {
    const std::string pipe = "pipe" + std::to_string(number) + writer.ending;
    const std::string device = "null" + std::to_string(number++) + writer.ending;
    ::mkfifo((program().folder() / pipe).c_str(), 0600);
    const auto result = write(writer, pipe);
    EXPECT_EQ(result.exit_code, 2);
    expect_golden(result.errors);
    EXPECT_TRUE(fs::is_fifo(program().folder() / pipe));
    if (::mknod((program().folder() / device).c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {
      EXPECT_EQ(write(writer, device).exit_code, 2);
      EXPECT_TRUE(fs::is_character_file(program().folder() / device));
    }
    if (writer.ending == ".html") continue;  // the name is not that of a page
    const auto stream = write(writer, "/proc/self/fd/1");
    EXPECT_EQ(stream.exit_code, 2);
    expect_golden(stream.errors);
  }
}

TEST_F(OutputFile, IsCheckedBeforeTheWorkBegins) {
  expect_golden(program().run({"predict", "no run", "--out", "nowhere/a.csv"}).errors);
  expect_golden(program().run({"convert", "no run", "-o", "nowhere/a.safetensors"}).errors);
  expect_golden(program().run({"train", "tiny.yaml", "--out", "tiny.yaml"}).errors);
}

TEST_F(OutputFile, IsNotAFileOfARunThroughALink) {
  fs::create_symlink(run() + "/epochs.csv", program().folder() / "epochs link.csv");
  const std::string before = read_text(run() + "/epochs.csv");
  expect_golden(program().run({"predict", run(), "--out", "epochs link.csv"}).errors);
  EXPECT_EQ(read_text(run() + "/epochs.csv"), before);
}

TEST_F(OutputFile, IsNotAFileThatRunsNeed) {
  constexpr const char* kSweep = "sweep-2026-11-22T16-00-00Z-7.json";
  program().write(kSweep, "{}");
  program().write(run() + "/events.out.tfevents.1.csv", "");
  const std::string rest = ": belongs to a run and writing it would damage the run; choose a different output file\n";
  program().write(run() + "/checkpoints/.lock", "");
  program().write("flowers.yaml", "seed: 1\n");
  for (const std::string& file :
       {run() + "/events.out.tfevents.1.csv", run() + "/checkpoints/notes.jsonl", run() + "/checkpoints/./notes.jsonl"})
    EXPECT_EQ(program().run({"predict", run(), "--out", file}).errors, "rnnlab: error: " + file + rest);
  for (const std::string& file : {std::string(kSweep), run() + "/checkpoints/.lock"})
    EXPECT_EQ(program().run({"bench", "--json", file}).errors, "rnnlab: error: " + file + rest);
  const auto among_checkpoints =
      program().run_in_shell("cd '" + run() + "/checkpoints'; \"$0\" bench --json best.json");
  EXPECT_EQ(among_checkpoints.errors, "rnnlab: error: best.json" + rest);
  expect_golden(program().run({"convert", run(), "-o", "flowers.yaml"}).errors);
}

TEST_F(OutputFile, OfABenchmarkIsNotItsOwnSettings) {
  program().write("b.yaml", "device: cpu\n");
  expect_golden(program().run({"bench", "b.yaml", "--json", "./b.yaml"}).errors);
  program().write("two.json", "");
  fs::create_symlink("two.json", program().folder() / "link to two.json");
  expect_golden(program().run({"bench", "b.yaml", "--json", "two.json", "--csv", "link to two.json"}).errors);
}

TEST_F(OutputFile, FoldersAreNotRunsOrDanglingLinks) {
  expect_golden(program().run({"train", "tiny.yaml", "--out", run()}).errors);
  expect_golden(program().run({"train", "tiny.yaml", "--out", run() + "/checkpoints"}).errors);
  fs::create_symlink("nowhere", program().folder() / "dangling");
  const auto result = program().run({"train", "tiny.yaml", "--out", "dangling"});
  EXPECT_EQ(result.exit_code, 2);
  expect_golden(result.errors);
}

// A folder from an unknown source must not redirect output to a different place.
TEST_F(OutputFile, IsNotALinkInARunFolder) {
  program().write("elsewhere.csv", "old");
  const std::string link = run() + "/predictions.csv";
  fs::create_symlink(program().folder() / "elsewhere.csv", link);
  fs::create_directory(run() + "/tables");
  fs::create_symlink(program().folder() / "elsewhere.csv", run() + "/tables/deep.csv");
  EXPECT_EQ(program().run({"predict", run(), "--out", run() + "/tables/deep.csv"}).exit_code, 2);
  const auto result = program().run({"predict", run(), "--out", link});
  EXPECT_EQ(result.exit_code, 2);
  expect_golden(result.errors);
  EXPECT_EQ(read_text(program().folder() / "elsewhere.csv"), "old");
}

}  // namespace
}  // namespace rnnlab
