// SPDX-License-Identifier: Apache-2.0
// Tests predict --stream and --state as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "app/program.h"
#include "base/error.h"

namespace rnnlab {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::Program;
using testing::read_text;
using ::testing::StartsWith;

constexpr const char* kSeriesYaml = R"(name: flow
device: cpu
layer: naive
data: {source: csv, path: flow.csv, target: [flow], window: 5}
model: {kind: sequence_regressor, hidden_size: 4}
training: {epochs: 2, batch_size: 8}
)";

// Waits for the second file to have so many lines, for at most a minute.
const std::string kWait =
    "lines() { i=0; while [ \"$(wc -l < $1)\" -lt $2 ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done; }; ";
const std::string kOpenStream =
    kWait +
    ": > out; mkfifo in; \"$0\" predict flow --stream --state s.state < in > out 2> err & exec 3> in; "
    "printf 'flow\\n1\\n2\\n' >&3; lines out 3; ";

class StreamOfRows : public ::testing::Test {
 protected:
  StreamOfRows() {
    std::string text = "flow\n";
    for (int i = 0; i < 60; ++i) text += std::to_string(i % 7) + "\n";
    program_.write("flow.csv", text);
    program_.write("flow.yaml", kSeriesYaml);
    program_.run({"train", "flow.yaml", "--quiet"}, 0);
  }

  std::string shell(const std::string& command, int exit_code = 0) const {
    return program_.run_in_shell(command, exit_code).output;
  }
  std::string file(const char* name) const { return read_text(program_.folder() / name); }

  Program program_;
};

TEST_F(StreamOfRows, PrintsEachPredictionBeforeTheNextRowArrives) {
  EXPECT_THAT(shell(kOpenStream + "cat out; printf '3\\n' >&3; exec 3>&-; wait $!"), StartsWith("row,prediction\n1,"));
  EXPECT_THAT(file("out"), HasSubstr("\n3,"));
}

TEST_F(StreamOfRows, GivesTheSameBytesHoweverTheRowsAreCutIntoCalls) {
  const std::string call = "\"$0\" predict flow --stream --state s.state --json 2> /dev/null | sed 's/.*prediction//'";
  const std::string whole =
      shell("\"$0\" predict flow --stream --json < flow.csv 2> /dev/null | sed 's/.*prediction//'");
  const std::string cut =
      shell("for rows in 2,2 3,5 6,100; do (head -n 1 flow.csv; sed -n ${rows}p flow.csv) | " + call + "; done");
  EXPECT_EQ(cut, whole);
  EXPECT_EQ(shell("head -n 1 flow.csv | " + call), "") << "no row, no prediction";
}

TEST_F(StreamOfRows, WritesTheStateAtASignalAndAtAMistake) {
  shell(kOpenStream + "kill -TERM $!; wait $!", 143);
  EXPECT_THAT(file("err"), HasSubstr("the stream ends after the current row"));
  const auto result =
      program_.run_in_shell("printf 'flow\\n3\\nfour\\n' | \"$0\" predict flow --stream --state s.state", 3);
  EXPECT_THAT(result.errors, HasSubstr("s.state: goes on after 2 steps of 1 series"));
  EXPECT_THAT(result.errors, HasSubstr("standard input:3: column 'flow'"));
  EXPECT_THAT(program_.run_in_shell("printf 'flow\\n' | \"$0\" predict flow --stream --state s.state", 0).errors,
              HasSubstr("s.state: goes on after 3 steps of 1 series"));
}

TEST_F(StreamOfRows, LeavesTheOldStateIfItIsKilled) {
  shell("printf 'flow\\n0\\n' | \"$0\" predict flow --stream --state s.state");
  const std::string old = file("s.state");
  shell(kOpenStream + "kill -KILL $!; wait $!", 137);
  EXPECT_EQ(file("s.state"), old);
}

TEST_F(StreamOfRows, RefusesAStateThatAnotherProcessUses) {
  shell(kOpenStream +
            "\"$0\" predict flow --stream --state s.state < flow.csv > other; code=$?; exec 3>&-; wait $!; exit $code",
        static_cast<int>(ExitCode::kDevice));
  EXPECT_EQ(file("other"), "");
}

TEST_F(StreamOfRows, EndsIfNobodyReadsItsPredictions) {
  shell(
      "(printf 'flow\\n1\\n2\\n3\\n'; sleep 1; cat flow.csv | sed 1d) | (\"$0\" predict flow --stream --state s.state; "
      "echo $? > code) | head -n 1");
  EXPECT_EQ(file("code"), "141\n");
}

TEST_F(StreamOfRows, RefusesRowsAfterACarriageReturn) {
  EXPECT_THAT(program_.run_in_shell("printf 'flow\\n1\\r2\\n3\\n' | \"$0\" predict flow --stream", 3).errors,
              HasSubstr("standard input:2: a carriage return"));
}

// Standard input is read in pieces of 64 KiB.
TEST_F(StreamOfRows, RefusesAStateWithoutAName) {
  EXPECT_EQ(shell("\"$0\" predict flow --stream --state '' < flow.csv", 2), "");
}

TEST_F(StreamOfRows, ReadsLinesThatAreLongerThanAPiece) {
  const std::string long_rows =
      "printf 'flow,text\\n'; for i in 1 2 3; do printf $i,; head -c 200000 /dev/zero | tr '\\0' a; echo; done";
  EXPECT_EQ(shell("(" + long_rows + ") | \"$0\" predict flow --stream 2> /dev/null"),
            shell("printf 'flow\\n1\\n2\\n3\\n' | \"$0\" predict flow --stream 2> /dev/null"));
}

TEST_F(StreamOfRows, RefusesWhatHasNoEffect) {
  program_.expect_error(2, {"predict", "flow", "--stream", "data.path=flow.csv"});
  program_.expect_error(2, {"predict", "flow", "--stream", "--part", "all"});
  program_.expect_error(2, {"predict", "flow", "--stream", "--prompt", "a"});
  program_.expect_error(2, {"predict", "flow", "--stream", "--out", "a.csv"});
  program_.expect_error(2, {"predict", "flow", "--stream", "--long"});
  program_.expect_error(2, {"predict", "flow", "--state", "s.state"});
  program_.expect_error(2, {"predict", "flow", "--json"});
  program_.expect_error(2, {"predict", "flow", "--stream", "--state", "flow.yaml"});
  EXPECT_THAT(program_.run_in_shell("\"$0\" predict flow --stream < /dev/null", 3).errors,
              EndsWith("standard input: is empty, expected the names of the columns in the first line\n"));
}

TEST_F(StreamOfRows, ContinuesATextFromItsState) {
  program_.write("text.txt", [] {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "to be or not to be; ";
    return text;
  }());
  program_.write("text.yaml", R"(name: text
device: cpu
layer: naive
data: {source: text, path: text.txt, sequence_length: 20}
model: {kind: language_model, hidden_size: 8}
training: {epochs: 3, batch_size: 4}
)");
  program_.run({"train", "text.yaml", "--quiet"}, 0);
  const std::string greedy = "\"$0\" predict text --temperature 0 2> /dev/null ";
  const std::string whole = shell(greedy + "--prompt to --length 20");
  EXPECT_EQ(shell(greedy + "--prompt to --length 0 --state t.state"), "to\n");
  std::string parts = "to" + shell(greedy + "--prompt '' --length 5 --state t.state");
  parts.pop_back();  // the line break
  EXPECT_EQ(parts + shell(greedy + "--prompt '' --length 15 --state t.state"), whole);
  EXPECT_THAT(program_.run_in_shell("\"$0\" predict flow --stream --state t.state < flow.csv", 6).errors,
              HasSubstr("is the state of other weights"));
}

}  // namespace
}  // namespace rnnlab
