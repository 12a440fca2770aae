// SPDX-License-Identifier: Apache-2.0
// Tests the reverse program against dual numbers, which share no code with it, and the choice of the values that are
// kept for it.
#include "layers/program/reverse_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "layers/cells/cell.h"
#include "layers/program/dual_numbers.h"
#include "layers/program/random_cell.h"

namespace rnnlab {
namespace {

size_t num_vector_rows(const CellProgram& program) {
  int64_t rows = 0;
  for (const LearnedVector& vector : program.vectors) rows += vector.num_rows();
  return static_cast<size_t>(rows);
}

UnitInputs random_inputs(const CellProgram& program, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto draw = [&](size_t count) {
    std::vector<double> values(count);
    for (double& value : values) value = normal(random);
    return values;
  };
  UnitInputs inputs{draw(program.gates.size()), draw(program.gates.size()), draw(program.states.size()),
                    draw(num_vector_rows(program))};
  // A normalizer is positive.
  for (size_t i = 0; i < inputs.states.size(); ++i)
    if (i == 2) inputs.states[i] = 0.5 + std::abs(inputs.states[i]);
  return inputs;
}

// Returns the value of each node for these inputs, and these gradients of the new states.
std::vector<double> values_of(const Graph& graph, const UnitInputs& inputs, const std::vector<double>& gradients) {
  std::vector<double> values;
  for (const Node& node : graph.nodes()) {
    const auto index = static_cast<size_t>(node.index);
    const auto at = [&](size_t i) {
      return node.arguments[i] == kNoNode ? 0 : values[static_cast<size_t>(node.arguments[i])];
    };
    switch (node.operation) {
      case Operation::kNumber:
        values.push_back(node.number);
        break;
      case Operation::kGate:
      case Operation::kInputSide:
        values.push_back(inputs.input_sides[index]);
        break;
      case Operation::kHiddenSide:
        values.push_back(inputs.hidden_sides[index]);
        break;
      case Operation::kState:
        values.push_back(inputs.states[index]);
        break;
      case Operation::kVector:
        values.push_back(inputs.vectors[index]);
        break;
      case Operation::kStateGradient:
        values.push_back(gradients[index]);
        break;
      default:
        values.push_back(compute(node.operation, at(0), at(1), at(2)));
    }
  }
  return values;
}

void expect_derivatives_of_dual_numbers(const CellProgram& program, uint64_t seed, const std::string& what) {
  const UnitInputs inputs = random_inputs(program, seed);
  const UnitStep step = run_with_derivatives(program, inputs);
  if (step.distance_to_kink < 1e-9) return;
  std::vector<double> gradients(program.states.size());
  for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = 0.5 + static_cast<double>(i);

  const ReverseProgram reverse = reverse_of(program);
  const std::vector<double> values = values_of(reverse.graph, inputs, gradients);
  const auto wanted = [&](auto member, size_t index) {
    double sum = 0;
    for (size_t i = 0; i < gradients.size(); ++i) sum += gradients[i] * (step.states[i].derivatives.*member)[index];
    return sum;
  };
  const auto expect = [&](const std::vector<NodeId>& nodes, auto member, const char* list) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      const double got = nodes[i] == kNoNode ? 0 : values[static_cast<size_t>(nodes[i])];
      const double want = wanted(member, i);
      EXPECT_NEAR(got, want, 1e-12 * (1 + std::abs(want))) << what << " " << list << " " << i;
    }
  };
  expect(reverse.input_sides, &UnitInputs::input_sides, "input side");
  for (size_t i = 0; i < program.gates.size(); ++i) {
    if (program.gates[i].is_sum) EXPECT_EQ(reverse.input_sides[i], reverse.hidden_sides[i]) << what;
  }
  std::vector<NodeId> apart = reverse.hidden_sides;
  for (size_t i = 0; i < apart.size(); ++i)
    if (program.gates[i].is_sum) apart[i] = kNoNode;
  expect(apart, &UnitInputs::hidden_sides, "hidden side");
  expect(reverse.states, &UnitInputs::states, "state");
  expect(reverse.vectors, &UnitInputs::vectors, "vector");
}

TEST(ReverseProgram, HasTheDerivativesOfEveryCell) {
  for (const auto& [cell, name] : config::EnumNames<Cell>::kNames)
    for (const Activation activation : {Activation::kTanh, Activation::kRelu})
      for (uint64_t seed = 1; seed <= 20; ++seed)
        expect_derivatives_of_dual_numbers(program_of(RecurrentOptions{.cell = cell, .activation = activation}), seed,
                                           std::string(name));
}

TEST(ReverseProgram, HasTheDerivativesOfRandomCells) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const CellText text = random_cell(seed);
    const ParsedCell parsed = parse_cell(text);
    ASSERT_TRUE(parsed.mistakes.empty()) << seed << " " << parsed.mistakes[0].message << "\n" << text.equations;
    expect_derivatives_of_dual_numbers(parsed.program, seed, std::to_string(seed) + "\n" + text.equations);
    if (HasFailure()) return;
  }
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

TEST(ReverseProgram, HasNoGradientThroughAConstant) {
  const CellProgram program = program_of({.gates = {"f"}, .states = {"h"}, .equations = "h = constant(h) * f"});
  EXPECT_EQ(reverse_of(program).states[0], kNoNode);
}

}  // namespace
}  // namespace rnnlab
