// SPDX-License-Identifier: Apache-2.0
#include "layers/program/evaluate.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace rnnlab {
namespace {

constexpr double kLeastDistanceToKink = 1e-9;

double value_of(const Node& node, const std::vector<double>& values, const UnitInputs& inputs,
                const UnitGradients& gradients) {
  const auto index = static_cast<size_t>(node.index);
  const auto at = [&](size_t i) {
    return node.arguments[i] == kNoNode ? 0 : values[static_cast<size_t>(node.arguments[i])];
  };
  switch (node.operation) {
    case Operation::kNumber:
      return node.number;
    case Operation::kGate:
    case Operation::kInputSide:
      return inputs.input_sides[index];
    case Operation::kHiddenSide:
    case Operation::kHiddenProduct:
      return inputs.hidden_sides[index];
    case Operation::kState:
      return inputs.states[index];
    case Operation::kVector:
      return inputs.vectors[index];
    case Operation::kStateGradient:
      return gradients.states[index];
    case Operation::kProductGradient:
      return gradients.products[index];
    default:
      return compute(node.operation, at(0), at(1), at(2));
  }
}

// A difference that is not a number is the largest.
double larger_or_nan(double a, double b) { return std::isnan(a) || b <= a ? a : b; }

// Compares the gradients of one list, such as the states before the step.
class Comparison {
 public:
  Comparison(const UnitStep& step, const UnitGradients& gradients, const std::vector<double>& values)
      : step_(step), gradients_(gradients), values_(values) {}

  void compare(const std::vector<NodeId>& nodes, std::vector<double> UnitInputs::*list) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      double wanted = 0;
      const auto add = [&](const std::vector<double>& factors, const std::vector<DerivedValue>& results) {
        for (size_t k = 0; k < factors.size(); ++k)
          if (factors[k] != 0) wanted += factors[k] * (results[k].derivatives.*list)[i];
      };
      add(gradients_.states, step_.states);
      add(gradients_.products, step_.operands);
      const double got = nodes[i] == kNoNode ? 0 : values_[static_cast<size_t>(nodes[i])];
      largest_ = larger_or_nan(largest_, std::abs(got - wanted) / (1 + std::abs(wanted)));
    }
  }

  double largest() const { return largest_; }

 private:
  const UnitStep& step_;
  const UnitGradients& gradients_;
  const std::vector<double>& values_;
  double largest_ = 0;
};

bool is_finite(const UnitStep& step) {
  const auto is_finite_value = [](const DerivedValue& state) {
    const auto finite = [](const std::vector<double>& list) {
      return std::ranges::all_of(list, [](double value) { return std::isfinite(value); });
    };
    const UnitInputs& by = state.derivatives;
    return std::isfinite(state.value) && finite(by.input_sides) && finite(by.hidden_sides) && finite(by.states) &&
           finite(by.vectors);
  };
  return std::ranges::all_of(step.states, is_finite_value) && std::ranges::all_of(step.operands, is_finite_value);
}

}  // namespace

std::vector<double> values_of(const Graph& graph, const UnitInputs& inputs, const UnitGradients& gradients) {
  std::vector<double> values;
  for (const Node& node : graph.nodes()) values.push_back(value_of(node, values, inputs, gradients));
  return values;
}

UnitInputs random_inputs(const CellProgram& program, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto draw = [&](size_t count) {
    std::vector<double> values(count);
    for (double& value : values) value = normal(random);
    return values;
  };
  return {draw(program.gates.size()), draw(program.gates.size()), draw(program.states.size()),
          draw(num_rows(program.vectors))};
}

DerivativeCheck check_derivative(const CellProgram& program, int64_t num_points) {
  const ReverseProgram reverse = reverse_of(program);
  UnitGradients gradients;
  for (size_t i = 0; i < program.states.size(); ++i) gradients.states.push_back(0.5 + static_cast<double>(i));
  gradients.products.resize(program.gates.size());
  for (const Node& node : program.graph.nodes())
    if (node.operation == Operation::kHiddenProduct) gradients.products[static_cast<size_t>(node.index)] = 0.25;
  std::vector<NodeId> hidden_sides = reverse.hidden_sides;  // a sum's gradient is that of its input side
  for (size_t i = 0; i < hidden_sides.size(); ++i)
    if (program.gates[i].is_sum) hidden_sides[i] = kNoNode;
  DerivativeCheck check;
  for (int64_t i = 0; i < num_points; ++i) {
    const UnitInputs inputs = random_inputs(program, static_cast<uint64_t>(i + 1));
    const UnitStep step = run_with_derivatives(program, inputs);
    if (step.distance_to_kink < kLeastDistanceToKink || !is_finite(step)) continue;
    const std::vector<double> values = values_of(reverse.graph, inputs, gradients);
    Comparison comparison(step, gradients, values);
    comparison.compare(reverse.input_sides, &UnitInputs::input_sides);
    comparison.compare(hidden_sides, &UnitInputs::hidden_sides);
    comparison.compare(reverse.states, &UnitInputs::states);
    comparison.compare(reverse.vectors, &UnitInputs::vectors);
    check.largest_difference = larger_or_nan(check.largest_difference, comparison.largest());
    check.num_points += 1;
  }
  return check;
}

}  // namespace rnnlab
