// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
  EXPECT_THAT(program.run({"cell", "lstm"}, 0).output,
              AllOf(HasSubstr("layers on a CPU: naive, "), HasSubstr("1000 random")));
  EXPECT_THAT(program.run({"cell", "mgu.yaml"}, 0).output,
              AllOf(HasSubstr("layers on a CPU: naive, grouped, fused_pointwise, pretransposed, hoisted, blocked\n"),
                    HasSubstr("layers on a GPU: naive, grouped, streamed, fused_pointwise, pretransposed, hoisted, "
                              "wavefront, persistent\n"),
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

using Json = nlohmann::ordered_json;

Json json_of(const Program& program, const std::string& cell) {
  return Json::parse(program.run({"cell", cell, "--json"}, 0).output);
}

// Returns the operations by name, in their order, and checks that each reads only those before it.
std::vector<std::string> operations_of(const Json& cell) {
  std::vector<std::string> names;
  for (const Json& one : cell["operations"]) {
    for (const size_t argument : one.value("arguments", Json::array())) {
      EXPECT_LT(argument, names.size()) << one;
    }
    names.push_back(one["operation"]);
  }
  return names;
}

constexpr const char* kThreeStates = R"(
gates: [a, b, c]
states: [h, s, t]
vectors: [p, q.i, q.f]
biases: one
equations: |
  s = s * sigmoid(x.a) + p * h.b
  t = where(t < s, q.i, -inf)
  h = tanh(c) * q.f + max(s, t) + 0.5
)";

TEST(CellVerb, PrintsTheProgramAsJson) {
  const Program program(std::string("name: mgu") + kMgu, "mgu.yaml");
  const Json mgu = json_of(program, "mgu.yaml");
  EXPECT_EQ(mgu["name"], "mgu");
  EXPECT_EQ(mgu["cell"], nullptr);
  EXPECT_EQ(mgu["states"], Json({"h"}));
  EXPECT_EQ(mgu["gates"][1], Json::parse(R"({"name": "n", "input_row": 1, "hidden_row": 1})"));
  EXPECT_EQ(mgu["parameters"][0], Json::parse(R"({"name": "weight_ih", "shape": ["2 H", "I"]})"));
  EXPECT_EQ(mgu["parameters"][3], Json::parse(R"({"name": "bias_hh", "shape": ["2 H"]})"));
  EXPECT_EQ(operations_of(mgu), (std::vector<std::string>{"gate", "sigmoid", "input_side", "hidden_side", "*", "+",
                                                          "tanh", "number", "-", "state", "*", "*", "+"}));
  EXPECT_EQ(mgu["operations"][7], Json::parse(R"({"operation": "number", "number": 1.0})"));
  EXPECT_EQ(mgu["operations"][8], Json::parse(R"({"operation": "-", "arguments": [7, 1]})"));
  EXPECT_EQ(mgu["new_states"], Json({12}));
  EXPECT_EQ(json_of(program, "lstm")["cell"], "lstm");
}

TEST(CellVerb, PrintsOneSidedGatesAndVectorsAsJson) {
  const Program program(kThreeStates, "three.yaml");
  const Json cell = json_of(program, "three.yaml");
  EXPECT_EQ(cell["gates"], Json::parse(R"([{"name": "a", "input_row": 0, "hidden_row": null},
                                           {"name": "b", "input_row": null, "hidden_row": 0},
                                           {"name": "c", "input_row": 1, "hidden_row": 1}])"));
  EXPECT_EQ(cell["vectors"], Json::parse(R"([{"name": "p", "parameter": "p", "row": 0},
                                             {"name": "q.i", "parameter": "q", "row": 0},
                                             {"name": "q.f", "parameter": "q", "row": 1}])"));
  EXPECT_EQ(cell["parameters"], Json::parse(R"([{"name": "weight_ih", "shape": ["2 H", "I"]},
                                                {"name": "weight_hh", "shape": ["2 H", "H"]},
                                                {"name": "bias_ih", "shape": ["2 H"]},
                                                {"name": "p", "shape": ["1 H"]}, {"name": "q", "shape": ["2 H"]}])"));
  EXPECT_THAT(operations_of(cell), ::testing::Contains("where"));
  EXPECT_THAT(cell["operations"].dump(), HasSubstr(R"({"operation":"number","number":"-inf"})"));
  EXPECT_EQ(cell["new_states"].size(), 3);
}

TEST(CellVerb, TakesTheCellOfARunWithItsOptions) {
  const Program program(kTinyYaml);
  program.write("mgu.yaml", std::string("name: mgu") + kMgu);
  const auto train = [&](const std::string& name, const Words& more) {
    program.run(testing::with({"train", "tiny.yaml", "layer=naive", "-q", "name=" + name}, more), 0);
  };
  train("gru", {"model.cell=gru", "model.reset_gate=before"});
  const std::string run = program.run_folders("gru").at(0);
  EXPECT_THAT(operations_of(json_of(program, run)), ::testing::Contains("hidden_product"));
  EXPECT_THAT(operations_of(json_of(program, "gru")), Not(::testing::Contains("hidden_product")));  // the cell's name
  EXPECT_EQ(json_of(program, run)["cell"], "gru");
  EXPECT_THAT(program.run({"cell", run}, 0).output, AllOf(HasSubstr("weight_hh (24, 8)"), HasSubstr("h.n(v")));
  EXPECT_THAT(program.run({"cell", run, "--yaml"}, 0).output, HasSubstr("h.n(r * h)"));
  train("heads", {"model.cell=slstm", "model.heads=2"});
  const Json heads = json_of(program, "heads");  // the name of the experiment
  EXPECT_EQ(heads["heads"], 2);
  EXPECT_EQ(heads["parameters"][1], Json::parse(R"({"name": "weight_hh", "shape": ["4 H", "H / 2"]})"));
  train("own", {"model.cell=mgu.yaml"});
  EXPECT_EQ(json_of(program, "runs/own"), json_of(program, "mgu.yaml"));
}

TEST(CellVerb, RefusesWhatHasNoCell) {
  const Program program(
      "name: images\ndevice: cpu\ndata: {source: digits, num_train: 20, num_valid: 10}\n"
      "model: {kind: image_classifier}\ntraining: {epochs: 1}\n",
      "images.yaml");
  program.run({"train", "images.yaml", "-q"}, 0);
  program.expect_error(2, {"cell", "images"});
  program.expect_error(2, {"cell", "/"});
  program.expect_error(2, {"cell", "lstm", "--json", "--yaml"});
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
