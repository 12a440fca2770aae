// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/program.h"

namespace rnnlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kTinyYaml;
using ::testing::Not;
using testing::Program;
using testing::read_text;

constexpr const char* kMgu = R"(
gates: [f, n]
states: [h]
equations: |
  f = sigmoid(f)
  n = tanh(x.n + f * h.n)
  h = (1 - f) * h + f * n
)";

TEST(CellVerb, ShowsTheProgramAndChecksItsDerivative) {
  const Program program(kMgu, "mgu.yaml");
  EXPECT_THAT(program.run({"cell", "lstm"}, 0).output, AllOf(HasSubstr("layers: naive, "), HasSubstr("1000 random")));
  EXPECT_THAT(program.run({"cell", "mgu.yaml"}, 0).output,
              AllOf(HasSubstr("layers: naive, fused_pointwise, pretransposed, hoisted, blocked, wavefront\n"),
                    HasSubstr("not by diagonal: ")));
  EXPECT_THAT(program.run({"cell", "slstm"}, 0).output, HasSubstr("kept for it: "));
}

TEST(CellVerb, PrintsAFileThatReadsBackToTheSameCell) {
  const Program program(kMgu, "mgu.yaml");
  for (const std::string cell : {"lstm", "gru", "rnn_relu", "min_gru", "min_lstm", "lstm_peephole"}) {
    program.write("again.yaml", program.run({"cell", cell, "--yaml"}, 0).output);
    EXPECT_EQ(program.run({"cell", "again.yaml"}, 0).output, program.run({"cell", cell}, 0).output) << cell;
  }
}

TEST(CellVerb, NamesMistakes) {
  const Program program("gates: [f]\nstates: [h]\nequations: h = tahn(f) + q\n", "bad.yaml");
  program.expect_error(2, {"cell", "lstn"});
  program.expect_error(2, {"cell", "bad.yaml"});
  program.expect_error(2, {"cell", "missing.yaml"});
  program.expect_error(2, {"cell"});
}

TEST(OwnCell, IsTrainedResumedAndUsedByItsEquations) {
  const Program program(kTinyYaml);
  program.write("mgu.yaml", kMgu);
  program.run({"train", "tiny.yaml", "layer=naive", "model.cell=mgu.yaml", "-q"}, 0);
  const std::string run = program.run_folders("tiny").at(0);
  EXPECT_THAT(read_text(run + "/config.yaml"), HasSubstr("n = tanh(x.n + f * h.n)"));
  // The run has the equations, and needs no file.
  std::filesystem::remove(program.folder() / "mgu.yaml");
  EXPECT_EQ(program.run({"evaluate", "tiny"}).exit_code, 0);
  EXPECT_EQ(program.run({"predict", "tiny", "--out", "predictions.csv"}).exit_code, 0);
  EXPECT_EQ(program.run({"train", "--resume", "tiny", "training.epochs=4", "-q"}).exit_code, 0);
}

TEST(OwnCell, RunsByBlockedAsByNaive) {
  const Program program(kTinyYaml);
  program.write("mgu.yaml", kMgu);
  program.run({"train", "tiny.yaml", "sweep={layer: [naive, blocked]}", "model.cell=mgu.yaml", "-q"}, 0);
  EXPECT_THAT(program.run({"compare", "tiny"}, 0).output, HasSubstr("cpu blocked"));
}

// The names of values and the order of operands are different.
constexpr const char* kMguInOtherWords = R"(
gates: [forget, new]
states: [s]
equations: |
  forget = sigmoid(forget)
  candidate = tanh(h.new * forget + x.new)
  s = candidate * forget + s * (1 - forget)
)";

constexpr const char* kOtherCell = R"(
gates: [f, n]
states: [h]
equations: |
  f = sigmoid(f)
  h = f * h + (1 - f) * tanh(n)
)";

TEST(OwnCell, IsComparedByItsEquations) {
  const Program program(kTinyYaml);
  program.write("mgu.yaml", kMgu);
  program.write("same.yaml", kMguInOtherWords);
  program.write("other.yaml", kOtherCell);
  const Words cell_of_file[] = {
      {"mgu.yaml", "layer=naive"}, {"same.yaml", "layer=blocked"}, {"other.yaml", "layer=naive"}};
  for (const Words& one : cell_of_file)
    program.run(
        {"train", "tiny.yaml", "name=" + one[0].substr(0, one[0].find('.')), "model.cell=" + one[0], one[1], "-q"}, 0);
  const std::string same = program.run({"compare", "mgu", "same"}, 0).output;
  EXPECT_THAT(same, Not(HasSubstr("cell=")));
  const std::string other = program.run({"compare", "mgu", "other"}, 0).output;
  EXPECT_THAT(other, AllOf(HasSubstr("cell=mgu"), HasSubstr("cell=other")));
}

TEST(OwnCell, IsNamedInTheTablesOfASweep) {
  const Program program(kTinyYaml);
  program.write("mgu.yaml", kMgu);
  program.write("other.yaml", "name: leaky\n" + std::string(kOtherCell));
  program.run({"train", "tiny.yaml", "layer=naive", "sweep={model.cell: [rnn_tanh, mgu.yaml, other.yaml]}", "-q"}, 0);
  const std::string table = program.run({"compare", "tiny"}, 0).output;
  for (const char* name : {"cell=rnn_tanh", "cell=mgu", "cell=leaky"}) EXPECT_THAT(table, HasSubstr(name));
  EXPECT_THAT(program.run({"rank", "tiny"}, 0).output, AllOf(HasSubstr("mgu"), HasSubstr("leaky")));
}

TEST(OwnCell, OfEquationsOfTheListIsThatCell) {
  const Program program(kTinyYaml);
  program.run(
      {"train", "tiny.yaml", "layer=fused", "-q", "model.cell={gates: [n], states: [h], equations: h = tanh(n)}"}, 0);
}

TEST(OwnCell, WithMistakesIsRefused) {
  const Program program(kTinyYaml);
  for (const char* cell : {"{gates: [n], states: [h], equations: h = tahn(n)}", "missing.yaml", "{}", "{name: x}",
                           "{biases: one}", "{gates: [n], states: [h], equations: h = 0 / 0 * n}"}) {
    program.expect_error(2, {"train", "tiny.yaml", "layer=naive", std::string("model.cell=") + cell});
    EXPECT_EQ(program.run({"check", "tiny.yaml", std::string("model.cell=") + cell}).exit_code, 2) << cell;
  }
}

}  // namespace
}  // namespace rnnlab
