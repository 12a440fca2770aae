// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/program.h"
#include "base/text.h"

namespace rnnlab {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kTinyYaml;
using testing::Program;

constexpr const char* kFull =
    "rnnlab: error: standard output: No space left on device; what was printed is not complete: free some space or "
    "send "
    "it elsewhere\n";

TEST(Output, ReportsAFullDisk) {
  for (const char* arguments : {"info", "info --json", "check --markdown", "bench --schema", "completion bash",
                                "--help", "train --help", "--version"}) {
    const auto result = Program().run_in_shell(std::string("\"$0\" ") + arguments + " > /dev/full");
    EXPECT_EQ(result.exit_code, 4) << arguments;
    EXPECT_EQ(result.errors, kFull) << arguments;
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
  const Program program;
  program.write("tiny.yaml", kTinyYaml);
  const auto result = program.run_in_shell("{ \"$0\" train tiny.yaml; echo $? > code; } 2>&1 | true; cat code");
  EXPECT_EQ(result.output, "141\n") << "of standard output alone";
  const auto folders = program.run_folders("tiny");
  ASSERT_EQ(folders.size(), 1u);
  EXPECT_EQ(program.run({"compare", folders.front()}).exit_code, 0) << "everything was written";
  EXPECT_EQ(program.run_in_shell("{ \"$0\" train tiny.yaml 2>&3; } 3>&1 > out.txt | true").exit_code, 0);
}

TEST(Output, FailsIfTheResultCannotBePrinted) {
  const Program program;
  program.write("tiny.yaml", kTinyYaml);
  const auto result = program.run_in_shell("\"$0\" train tiny.yaml -q > /dev/full");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.errors, HasSubstr(kFull));
}

TEST(Output, ReportsAClosedStdout) {
  const auto result = Program().run_in_shell("\"$0\" --version >&-");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.errors, HasSubstr("standard output: Bad file descriptor; "));
}

TEST(Output, AnErrorThatCannotBeShownKeepsItsExitCode) {
  EXPECT_EQ(Program().run_in_shell("\"$0\" trian 2>&-").exit_code, 2);
  EXPECT_EQ(Program().run_in_shell("\"$0\" trian 2> /dev/full").exit_code, 2);
}

TEST(Output, WithoutStderrTheLogIsWrittenIntoNoOtherFile) {
  const Program program;
  program.write("tiny.yaml", kTinyYaml);
  const auto result = program.run_in_shell("\"$0\" train tiny.yaml 2>&-");
  EXPECT_EQ(result.exit_code, 0);
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
  const std::vector<std::string> command = {
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
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"predict", run}, {"data", "inspect", "pets.csv"}, {"data", "inspect", "pets.yaml"}}) {
    const auto result = program.run_on_terminal(command);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_THAT(result.output, HasSubstr(kShown));
    expect_harmless(result.output);
  }
  expect_harmless(program.run({"data", "inspect", "pets.csv"}).output);
  expect_harmless(program.run({"data", "inspect", "pets.yaml"}).output);
}

TEST_F(Terminal, IsShownNoControlsOfAFoldersName) {
  const Program program;
  program.write("tiny.yaml", kTinyYaml);
  const std::string out = std::string("out ") + kHostile;
  const auto trained = program.run_on_terminal({"train", "tiny.yaml", "--out", out});
  EXPECT_EQ(trained.exit_code, 0) << trained.output;
  EXPECT_THAT(trained.output, HasSubstr(std::string("out ") + kShown + "/tiny/"));
  expect_harmless(trained.output);
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"compare", out + "/tiny"}, {"compare", out + "/tiny", "--csv"}, {"compare", out}, {"evaluate", out}})
    expect_harmless(program.run_on_terminal(command).output);
}

TEST_F(Terminal, IsShownNoControlsOfADownloadedRun) {
  const Program program;
  program.write("tiny.yaml", kTinyYaml);
  ASSERT_EQ(program.run({"train", "tiny.yaml", "-q"}).exit_code, 0);
  const std::string folder = program.run_folders("tiny").at(0);
  auto summary = nlohmann::json::parse(testing::read_text(folder + "/summary.json"));
  summary["name"] = summary["layer"] = std::string("fused\n") + kHostile;
  testing::write_text(folder + "/summary.json", summary.dump());
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"compare", "--force", folder}, {"compare", "--force", "--json", folder}, {"report", "--markdown", folder}})
    expect_harmless(program.run_on_terminal(command).output);
}

TEST_F(Terminal, ShowsTheProgressBar) {
  const Program program;
  program.write("tiny.yaml", kTinyYaml);
  const auto trained = program.run_on_terminal({"train", "tiny.yaml"}, "xterm");
  EXPECT_EQ(trained.exit_code, 0) << trained.output;
  EXPECT_THAT(trained.output, HasSubstr("\r\x1b[Kepoch 1/3 ["));
}

TEST(Output, CutsMessagesOfWhatAFileHolds) {
  const Program program;
  const auto result = program.run({"compare", std::string(3000, 'x') + "/" + std::string(3000, 'y')});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_LT(result.errors.size(), 5000u);
  EXPECT_THAT(result.errors, EndsWith(" more bytes)\n"));
}

}  // namespace
}  // namespace rnnlab
