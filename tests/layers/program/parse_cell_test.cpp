// SPDX-License-Identifier: Apache-2.0
// Tests reading of equations: what they mean, when two texts are the same program, and mistakes with their places.
#include "layers/program/parse_cell.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/text.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const CellText kMgu = {.gates = {"f", "n"}, .states = {"h"}, .equations = R"(
  f = sigmoid(f)            # the sum of both sides
  n = tanh(x.n + f * h.n)
  h = (1 - f) * h + f * n
)"};

CellText with_equations(const std::string& equations, CellText text = kMgu) {
  text.equations = equations;
  return text;
}

TEST(ParseCell, KnowsWhichSidesEachGateHas) {
  const CellProgram program = program_of(kMgu);
  ASSERT_EQ(program.gates.size(), 2U);
  EXPECT_TRUE(program.gates[0].is_sum && program.gates[0].reads_input && program.gates[0].reads_hidden);
  EXPECT_TRUE(!program.gates[1].is_sum && program.gates[1].reads_input && program.gates[1].reads_hidden);
  EXPECT_FALSE(program.has_dependent_product());

  const CellProgram inputs_alone =
      program_of({.gates = {"z", "n"}, .states = {"h"}, .equations = "h = h + sigmoid(x.z) * (x.n - h)"});
  EXPECT_EQ(inputs_alone.num_input_gates(), 2);
  EXPECT_EQ(inputs_alone.num_hidden_gates(), 0);
  EXPECT_FALSE(inputs_alone.has_hidden_biases());
}

TEST(ParseCell, KnowsProductsThatWaitForOthers) {
  const CellProgram program =
      program_of(with_equations("f = sigmoid(f)\nn = tanh(x.n + h.n(f * h))\nh = (1 - f) * h + f * n"));
  EXPECT_TRUE(program.has_dependent_product());
  EXPECT_EQ(program.num_hidden_gates(), 2);
}

TEST(ParseCell, SameEquationsHaveOneHashHoweverTheyAreWritten) {
  const std::string hash = program_of(kMgu).hash;
  for (const char* same : {"a = sigmoid(h.f + x.f)\nb = tanh(h.n * a + x.n)\nh = b * a + h * (1 - a)",
                           "h = (1 - sigmoid(f)) * h + sigmoid(f) * tanh(x.n + sigmoid(f) * h.n)",
                           "f = sigmoid(f)\nn = tanh(x.n +\n  f * h.n)\nh = (1 / 1 - f) * h + 1 * f * n + 0"})
    EXPECT_EQ(program_of(with_equations(same)).hash, hash) << same;
  CellText renamed = kMgu;
  renamed.gates = {"forget", "new"};
  renamed.equations = "forget = sigmoid(forget)\nh = (1 - forget) * h + forget * tanh(x.new + forget * h.new)";
  EXPECT_EQ(program_of(renamed).hash, hash);
}

TEST(ParseCell, OtherEquationsHaveOtherHashes) {
  const std::string hash = program_of(kMgu).hash;
  for (const char* other : {"f = sigmoid(f)\nn = tanh(n)\nh = (1 - f) * h + f * n",
                            "f = sigmoid(f)\nn = tanh(x.n + f * h.n)\nh = f * h + (1 - f) * n",
                            "f = sigmoid(f)\nn = tanh(x.n + f * h.n)\nh = (1.5 - f) * h + f * n"})
    EXPECT_NE(program_of(with_equations(other)).hash, hash) << other;
  CellText one_bias = kMgu;
  one_bias.biases = Biases::kOne;
  EXPECT_NE(program_of(one_bias).hash, hash);
}

std::vector<std::string> mistakes_of(const CellText& text) {
  std::vector<std::string> lines;
  for (const auto& [line, column, message, key] : parse_cell(text).mistakes)
    lines.push_back(fmt::format("{} {}", line == 0 ? key : fmt::format("{}:{}", line, column), message));
  return lines;
}

TEST(ParseCell, ReportsEachMistakeWithItsPlace) {
  const char* kTexts[] = {
      "f = sigmod(f)\nh = h + f + n",         // an unknown function
      "h = h + f + n + q",                    // an unknown name
      "h = h + f + n\nh = 2 * h",             // a second assignment
      "h = (h + f\nf = f + n",                // a parenthesis that is not closed
      "h = h + f ** 2 + n",                   // a power
      "h = h + f + n < 0",                    // a comparison as a number
      "h = where(f, h, n)",                   // a number as a comparison
      "h = max(f, n, h)",                     // too many arguments
      "h = x.f + h.m",                        // a side of what is not a gate
      "h = f + n + x",                        // the input itself
      "h = f + n + 1.2.3",                    // not a number
      "h = f + n\nunused = 2 * f",            // a value that is never used
      "h = f × n",                            // a character of another alphabet
      "f = sigmoid(f)",                       // a state without a value, a gate without a reader
      "h = h.f + h.f(2 * h) + n",             // two products of one gate
      "h = f + n + min(h, 1e300)",            // a number beyond float32
      "h = f + n + 0 / 0",                    // not a number
      "1 = h",                                // no name
      "h = f n",                              // no sign between two values
      "h = sigmod(f)\nn = tanhh(n)\nh = q",   // three mistakes
      "a = sigmod(f)\nb = a + q\nh = b + n",  // a value of an equation with a mistake is no mistake
      "",
  };
  for (const char* text : kTexts) {
    EXPECT_THAT(mistakes_of(with_equations(text)), ::testing::Not(IsEmpty())) << text;
    expect_golden(join(mistakes_of(with_equations(text)), "\n"));
  }
}

TEST(ParseCell, ReportsMistakesOfTheListsOfNames) {
  const CellText kTexts[] = {
      {.gates = {"f", "f"}, .states = {"h"}, .equations = "h = f"},
      {.gates = {"z"}, .states = {"h", "z"}, .equations = "z = z + h\nh = z"},
      {.gates = {"x"}, .states = {"h"}, .equations = "h = x.x"},
      {.gates = {"tanh"}, .states = {"h"}, .equations = "h = x.tanh"},
      {.gates = {"a-b"}, .states = {"h"}, .equations = "h = h"},
      {.gates = {"h"}, .states = {"s"}, .equations = "s = x.h"},
      {.gates = {}, .states = {"h"}, .equations = "h = h"},
      {.gates = {"f"}, .states = {"a", "b", "c", "d", "e"}, .equations = "a = f\nb = f\nc = f\nd = f\ne = f"},
      {.gates = {"f"}, .states = {"h"}, .equations = "h = f", .vectors = {{"p", {}}}},
      {.gates = {"f"}, .states = {"h"}, .equations = "h = f * p.i", .vectors = {{"p", {"i", "o"}}}},
      {.gates = {"f"}, .states = {"h"}, .equations = "h = f * p.i", .vectors = {{"p", {"i", "i"}}}},
      {.gates = {"f"}, .states = {"h"}, .equations = "h = f * weight_ih", .vectors = {{"weight_ih", {}}}},
      {.gates = {"f"}, .states = {"h"}, .equations = "h = f", .vectors = {{"x", {"f"}}}},
      {.gates = {"f"}, .states = {"s", "h"}, .equations = "s = f\nh = s"},
      {.gates = {"f"}, .states = {"h"}, .equations = "h = h + x.f", .has_heads = true},
  };
  for (const CellText& text : kTexts) {
    EXPECT_THAT(mistakes_of(text), ::testing::Not(IsEmpty()));
    expect_golden(join(mistakes_of(text), "\n"));
  }
}

TEST(ParseCell, RefusesExpressionsThatAreTooDeepOrTooLong) {
  const std::string deep = std::string(10'000, '(') + "f" + std::string(10'000, ')');
  EXPECT_EQ(mistakes_of(with_equations("h = n + " + deep)).size(), 1U);
  EXPECT_EQ(mistakes_of(with_equations("h = n + f" + std::string(10'000, '-') + "f")).size(), 1U);
  std::string longest = "h = f + n";
  for (int i = 0; i < 300; ++i) longest += fmt::format(" + {} * h", i + 2);
  EXPECT_EQ(mistakes_of(with_equations(longest)).size(), 1U);
}

TEST(ParseCell, ReadsNumbersWithExponentsAndInfinity) {
  const CellProgram program = program_of(with_equations("h = f + n + 1.5e-3 + max(h, -inf) + .5"));
  std::vector<double> numbers;
  for (const Node& node : program.graph.nodes())
    if (node.operation == Operation::kNumber) numbers.push_back(node.number);
  EXPECT_THAT(numbers, ElementsAre(1.5e-3, -std::numeric_limits<double>::infinity(), 0.5));
}

}  // namespace
}  // namespace rnnlab
