// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/program.h"
#include "base/text.h"
#include "golden.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kTinyYaml;
using testing::Program;
using testing::read_text;
using testing::with;
using testing::Words;

TEST(Output, ReportsAFullDisk) {
  for (const char* arguments : {"info", "info --json", "check --markdown", "bench --schema", "completion bash",
                                "--help", "train --help", "--version"}) {
    const auto result = Program().run_in_shell(std::string("\"$0\" ") + arguments + " > /dev/full", 4);
    EXPECT_THAT(result.errors, HasSubstr("output: No space left ")) << arguments;
  }
}

// The exit code of sh is that of the reader, so the program's goes through a file.
TEST(Output, AReaderThatGoesAwayEndsTheProgramQuietly) {
  const Program program;
  const auto result = program.run_in_shell("{ \"$0\" check --markdown; echo $? > code; } | true; cat code");
  EXPECT_EQ(result.output, "141\n");
  EXPECT_THAT(result.errors, IsEmpty());
}

TEST(Output, AReaderOfTheLogThatGoesAwayDoesNotEndTraining) {
  const Program program(kTinyYaml);
  const auto result = program.run_in_shell("{ \"$0\" train tiny.yaml; echo $? > code; } 2>&1 | true; cat code");
  EXPECT_EQ(result.output, "141\n") << "of standard output alone";
  const auto folders = program.run_folders("tiny");
  ASSERT_EQ(folders.size(), 1u);
  EXPECT_EQ(program.run({"compare", folders.front()}).exit_code, 0) << "everything was written";
  EXPECT_EQ(program.run_in_shell("{ \"$0\" train tiny.yaml 2>&3; } 3>&1 > out.txt | true").exit_code, 0);
}

TEST(Output, FailsIfTheResultCannotBePrinted) {
  const Program program(kTinyYaml);
  const auto result = program.run_in_shell("\"$0\" train tiny.yaml -q > /dev/full", 4);
  EXPECT_THAT(result.errors, HasSubstr("output: No space left "));
}

TEST(Output, ReportsAClosedStdout) {
  const auto result = Program().run_in_shell("\"$0\" --version >&-", 4);
  EXPECT_THAT(result.errors, HasSubstr("output: Bad file descriptor; "));
}

TEST(Output, AnErrorThatCannotBeShownKeepsItsExitCode) {
  EXPECT_EQ(Program().run_in_shell("\"$0\" trian 2>&-").exit_code, 2);
  EXPECT_EQ(Program().run_in_shell("\"$0\" trian 2> /dev/full").exit_code, 2);
}

TEST(Output, WithoutStderrTheLogIsWrittenIntoNoOtherFile) {
  const Program program(kTinyYaml);
  const auto result = program.run_in_shell("\"$0\" train tiny.yaml 2>&-", 0);
  EXPECT_THAT(result.errors, IsEmpty());
  const auto folders = program.run_folders("tiny");
  ASSERT_EQ(folders.size(), 1u);
  EXPECT_EQ(program.run({"compare", folders.front()}).exit_code, 0) << "every record can be read";
}

// ---- text on a terminal ----

constexpr const char* kHostile = "\x1b]0;pwn\x07\x1b[31m\u009b2J\u202e";
constexpr const char* kShown = "\\x1b]0;pwn\\x07\\x1b[31m\\xc2\\x9b2J\\xe2\\x80\\xae";

// The only control characters in the output are line ends and tabs.
void expect_harmless(const std::string& shown) { EXPECT_EQ(without_controls(shown), shown); }

class Terminal : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_pseudo_terminals()) GTEST_SKIP() << "no pseudo-terminals here: /dev/pts is not mounted";
  }
};

TEST_F(Terminal, IsShownNoControlsOfGeneratedText) {
  const Program program;
  std::string text;
  for (int i = 0; i < 30; ++i) text += std::string("ab\r\t") + kHostile + "\n";
  program.write("text.txt", text);
  program.write("text.yaml",
                "name: text\ndevice: cpu\ndata: {source: text, path: text.txt, sequence_length: 5}\n"
                "model: {kind: language_model, hidden_size: 8}\ntraining: {epochs: 1, batch_size: 8}\n");
  ASSERT_EQ(program.run({"train", "text.yaml", "-q"}).exit_code, 0);
  const Words command = {
      "predict", program.run_folders("text").at(0), "--prompt", std::string("ab\t") + kHostile, "--length", "0"};
  const auto shown = program.run_on_terminal(command);
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_EQ(shown.output, std::string("ab\t") + kShown + "\n");
  EXPECT_EQ(program.run(command).output, std::string("ab\t") + kHostile + "\n") << "data stay as they are in a file";
}

TEST_F(Terminal, IsShownNoControlsOfPredictedClasses) {
  const Program program;
  std::string table = "a,kind\n";
  for (int i = 0; i < 12; ++i) table += std::to_string(i) + (i % 2 == 0 ? ",x" : std::string(",") + kHostile) + "\n";
  program.write("pets.csv", table);
  program.write("pets.yaml",
                "name: pets\ndevice: cpu\ndata: {source: csv, path: pets.csv, target: [kind], num_valid: 2}\n"
                "model: {hidden_size: 4}\ntraining: {epochs: 1, batch_size: 2}\n");
  ASSERT_EQ(program.run({"train", "pets.yaml", "-q"}).exit_code, 0);
  const std::string run = program.run_folders("pets").at(0);
  EXPECT_THAT(program.run({"predict", run}).output, HasSubstr(std::string("probability_") + kHostile));
  for (const Words& command :
       std::vector<Words>{{"predict", run}, {"data", "inspect", "pets.csv"}, {"data", "inspect", "pets.yaml"}}) {
    const auto result = program.run_on_terminal(command);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_THAT(result.output, HasSubstr(kShown));
    expect_harmless(result.output);
  }
  expect_harmless(program.run({"data", "inspect", "pets.csv"}).output);
  expect_harmless(program.run({"data", "inspect", "pets.yaml"}).output);
}

TEST_F(Terminal, IsShownNoControlsOfAFoldersName) {
  const Program program(kTinyYaml);
  const std::string out = std::string("out ") + kHostile;
  const auto trained = program.run_on_terminal({"train", "tiny.yaml", "--out", out});
  EXPECT_EQ(trained.exit_code, 0) << trained.output;
  EXPECT_THAT(trained.output, HasSubstr(std::string("out ") + kShown + "/tiny/"));
  expect_harmless(trained.output);
  for (const Words& command : std::vector<Words>{
           {"compare", out + "/tiny"}, {"compare", out + "/tiny", "--csv"}, {"compare", out}, {"evaluate", out}})
    expect_harmless(program.run_on_terminal(command).output);
}

TEST_F(Terminal, IsShownNoControlsOfADownloadedRun) {
  const Program program(kTinyYaml);
  ASSERT_EQ(program.run({"train", "tiny.yaml", "-q"}).exit_code, 0);
  const std::string folder = program.run_folders("tiny").at(0);
  auto summary = nlohmann::json::parse(read_text(folder + "/summary.json"));
  summary["name"] = summary["layer"] = std::string("fused\n") + kHostile;
  testing::write_text(folder + "/summary.json", summary.dump());
  for (const Words& command : std::vector<Words>{
           {"compare", "--force", folder}, {"compare", "--force", "--json", folder}, {"report", "--markdown", folder}})
    expect_harmless(program.run_on_terminal(command).output);
}

TEST_F(Terminal, ShowsTheProgressBar) {
  const Program program(kTinyYaml);
  const auto trained = program.run_on_terminal({"train", "tiny.yaml"}, "xterm");
  EXPECT_EQ(trained.exit_code, 0) << trained.output;
  EXPECT_THAT(trained.output, HasSubstr("\r\x1b[Kepoch 1/3 ["));
}

TEST(Output, CutsMessagesOfWhatAFileHolds) {
  const Program program;
  const auto result = program.run({"compare", std::string(3000, 'x') + "/" + std::string(3000, 'y')}, 2);
  EXPECT_LT(result.errors.size(), 5000u);
  EXPECT_THAT(result.errors, EndsWith(" more bytes)\n"));
}

// ---- the names of output files that the user gives ----

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
    program_ = new Program(kTinyYaml);
    program_->run({"train", "tiny.yaml", "-q"}, 0);
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
    const std::string table = "without --csv and --json the table is printed to standard output";
    const std::string print = "remove --out to print to standard output";
    return {{{"convert", run(), "-o"}, ".safetensors", "name an ordinary file; weights cannot be printed"},
            {{"predict", run(), "--out"}, ".csv", print},
            {{"predict", run(), "--out"}, ".jsonl", print},
            {{"predict", run(), "--out"}, ".npy", print},
            {{"report", run(), "-o"}, ".html", "name an ordinary file; --markdown prints to standard output"},
            {with(bench, {"--json"}), ".json", table},
            {with(bench, {"--csv"}), ".csv", table}};
  }
  testing::ProgramResult write(const Writer& writer, const std::string& file, int exit_code) const {
    return program().run(with(writer.command, {file}), exit_code);
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
    write(writer, link, 0);
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
    program().expect_error(2, with(writer.command, {pipe}));
    EXPECT_TRUE(fs::is_fifo(program().folder() / pipe));
    if (::mknod((program().folder() / device).c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {
      write(writer, device, 2);
      EXPECT_TRUE(fs::is_character_file(program().folder() / device));
    }
    if (writer.ending == ".html") continue;  // the name is not that of a page
    program().expect_error(2, with(writer.command, {"/proc/self/fd/1"}));
  }
}

TEST_F(OutputFile, IsCheckedBeforeTheWorkBegins) {
  program().expect_error(2, {"predict", "no run", "--out", "nowhere/a.csv"});
  program().expect_error(2, {"convert", "no run", "-o", "nowhere/a.safetensors"});
  program().expect_error(2, {"train", "tiny.yaml", "--out", "tiny.yaml"});
}

TEST_F(OutputFile, IsNotAFileOfARunThroughALink) {
  fs::create_symlink(run() + "/epochs.csv", program().folder() / "epochs link.csv");
  const std::string before = read_text(run() + "/epochs.csv");
  program().expect_error(2, {"predict", run(), "--out", "epochs link.csv"});
  EXPECT_EQ(read_text(run() + "/epochs.csv"), before);
}

TEST_F(OutputFile, IsNotAFileThatRunsNeed) {
  constexpr const char* kSweep = "sweep-2026-11-22T16-00-00Z-7.json";
  program().write(kSweep, "{}");
  program().write(run() + "/events.out.tfevents.1.csv", "");
  program().write(run() + "/checkpoints/.lock", "");
  program().write("flowers.yaml", "seed: 1\n");
  for (const std::string& file :
       {run() + "/events.out.tfevents.1.csv", run() + "/checkpoints/notes.jsonl", run() + "/checkpoints/./notes.jsonl"})
    program().expect_error(2, {"predict", run(), "--out", file});
  for (const std::string& file : {std::string(kSweep), run() + "/checkpoints/.lock"})
    program().expect_error(2, {"bench", "--json", file});
  const auto among_checkpoints =
      program().run_in_shell("cd '" + run() + "/checkpoints'; \"$0\" bench --json best.json");
  expect_golden(among_checkpoints.errors);
  program().expect_error(2, {"convert", run(), "-o", "flowers.yaml"});
}

TEST_F(OutputFile, OfABenchmarkIsNotItsOwnSettings) {
  program().write("b.yaml", "device: cpu\n");
  program().expect_error(2, {"bench", "b.yaml", "--json", "./b.yaml"});
  program().write("two.json", "");
  fs::create_symlink("two.json", program().folder() / "link to two.json");
  program().expect_error(2, {"bench", "b.yaml", "--json", "two.json", "--csv", "link to two.json"});
}

TEST_F(OutputFile, FoldersAreNotRunsOrDanglingLinks) {
  program().expect_error(2, {"train", "tiny.yaml", "--out", run()});
  program().expect_error(2, {"train", "tiny.yaml", "--out", run() + "/checkpoints"});
  fs::create_symlink("nowhere", program().folder() / "dangling");
  program().expect_error(2, {"train", "tiny.yaml", "--out", "dangling"});
}

// A folder from an unknown source must not redirect output to a different place.
TEST_F(OutputFile, IsNotALinkInARunFolder) {
  program().write("elsewhere.csv", "old");
  const std::string link = run() + "/predictions.csv";
  fs::create_symlink(program().folder() / "elsewhere.csv", link);
  fs::create_directory(run() + "/tables");
  fs::create_symlink(program().folder() / "elsewhere.csv", run() + "/tables/deep.csv");
  EXPECT_EQ(program().run({"predict", run(), "--out", run() + "/tables/deep.csv"}).exit_code, 2);
  program().expect_error(2, {"predict", run(), "--out", link});
  EXPECT_EQ(read_text(program().folder() / "elsewhere.csv"), "old");
}

}  // namespace
}  // namespace rnnlab
