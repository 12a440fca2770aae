// SPDX-License-Identifier: Apache-2.0
// Tests the reverse program against dual numbers, which share no code with it, and the choice of the values that are
// kept for it.
#include "layers/program/reverse_program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "layers/cells/cell.h"
#include "layers/program/evaluate.h"
#include "layers/program/random_cell.h"

namespace rnnlab {
namespace {

constexpr double kRounding = 1e-12;

TEST(ReverseProgram, HasTheDerivativesOfEveryCell) {
  for (const Cell cell : all_cells())
    for (const Activation activation : {Activation::kTanh, Activation::kRelu}) {
      const DerivativeCheck check =
          check_derivative(program_of(RecurrentOptions{.cell = cell, .activation = activation}), 100);
      EXPECT_LT(check.largest_difference, kRounding) << cell_name(cell);
      EXPECT_GT(check.num_points, 20) << cell_name(cell);
    }
}

TEST(ReverseProgram, HasTheDerivativesOfRandomCells) {
  int64_t num_points = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const CellText text = random_cell(seed);
    const ParsedCell parsed = parse_cell(text);
    ASSERT_TRUE(parsed.mistakes.empty()) << seed << " " << parsed.mistakes[0].message << "\n" << text.equations;
    const DerivativeCheck check = check_derivative(parsed.program, 2);
    ASSERT_LT(check.largest_difference, kRounding) << seed << "\n" << text.equations;
    num_points += check.num_points;
  }
  EXPECT_GT(num_points, 3000);
}

struct KeptCase {
  const char* name;
  CellText text;
  size_t num_kept, num_recomputed;
};

// What kernels written by hand keep: LSTM its four gates, and tanh(c) again; GRU r, z, n and R h + b of n.
TEST(ReverseProgram, KeepsWhatKernelsByHandKeep) {
  const KeptCase kCases[] = {
      {"lstm",
       {{"i", "f", "g", "o"}, {"h", "c"}, "c = sigmoid(f) * c + sigmoid(i) * tanh(g)\nh = sigmoid(o) * tanh(c)"},
       4,
       1},
      {"gru",
       {{"r", "z", "n"}, {"h"}, "z = sigmoid(z)\nn = tanh(x.n + sigmoid(r) * h.n)\nh = (1 - z) * n + z * h"},
       4,
       0},
      {"rnn_tanh", {{"n"}, {"h"}, "h = tanh(n)"}, 0, 0},
      {"rnn_relu", {{"n"}, {"h"}, "h = relu(n)"}, 0, 0},
      {"mgu", {{"f", "n"}, {"h"}, "f = sigmoid(f)\nn = tanh(x.n + f * h.n)\nh = (1 - f) * h + f * n"}, 3, 0},
      {"cifg",
       {{"f", "g", "o"}, {"h", "c"}, "f = sigmoid(f)\nc = f * c + (1 - f) * tanh(g)\nh = sigmoid(o) * tanh(c)"},
       3,
       1},
      {"janet", {{"f", "g"}, {"h"}, "f = sigmoid(f)\nh = f * h + (1 - f) * tanh(g)"}, 2, 0},
      {"ligru", {{"z", "n"}, {"h"}, "z = sigmoid(z)\nh = z * h + (1 - z) * relu(n)"}, 2, 0},
  };
  for (const KeptCase& one : kCases) {
    const ReverseProgram reverse = reverse_of(program_of(one.text));
    EXPECT_EQ(reverse.kept.size(), one.num_kept) << one.name;
    EXPECT_EQ(reverse.recomputed.size(), one.num_recomputed) << one.name;
  }
}

// Each line doubles the number of paths to the first.
TEST(ReverseProgram, TakesNoLongerForManyPaths) {
  std::string equations = "a0 = h * f\n";
  for (int i = 1; i < 60; ++i) equations += fmt::format("a{} = tanh(a{} * a{})\n", i, i - 1, i - 1);
  const CellProgram program = program_of({.gates = {"f"}, .states = {"h"}, .equations = equations + "h = a59"});
  EXPECT_LT(check_derivative(program, 10).largest_difference, kRounding);
  std::string products = "a0 = h * f\n";
  for (int i = 1; i < 60; ++i) products += fmt::format("a{} = a{} * a{}\n", i, i - 1, i - 1);
  const ReverseProgram reverse =
      reverse_of(program_of({.gates = {"f"}, .states = {"h"}, .equations = products + "h = tanh(a59)"}));
  EXPECT_EQ(reverse.kept.size(), 1U);
}

TEST(ReverseProgram, CheckSeesWhatIsNotANumber) {
  const CellProgram program =
      program_of({.gates = {"f"},
                  .states = {"h"},
                  .equations = "h = tanh(h) + where(f > 0.1, f, exp(10000 * f) - exp(9000 * f))"});
  const DerivativeCheck check = check_derivative(program, 200);
  EXPECT_FALSE(check.largest_difference <= kRounding);
}

TEST(ReverseProgram, HasNoGradientThroughAConstant) {
  const CellProgram program = program_of({.gates = {"f"}, .states = {"h"}, .equations = "h = constant(h) * f"});
  EXPECT_EQ(reverse_of(program).states[0], kNoNode);
}

}  // namespace
}  // namespace rnnlab
