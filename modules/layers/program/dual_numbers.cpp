// SPDX-License-Identifier: Apache-2.0
#include "layers/program/dual_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "base/error.h"

namespace rnnlab {
namespace {

using enum Operation;

constexpr size_t kMostInputs = 2 * kMostGates + kMostStates + kMostVectors;

// A value with its derivatives by all inputs, one after another: input sides, hidden sides, states, vectors. `size` is
// how far the value moves, at most, if each sum of products moves by 1, and each state by itself.
struct Dual {
  double value = 0;
  double size = 0;
  std::array<double, kMostInputs> slopes = {};
};

class DualRun {
 public:
  DualRun(const CellProgram& program, const UnitInputs& inputs)
      : program_(program),
        inputs_(inputs),
        num_slopes_(inputs.input_sides.size() + inputs.hidden_sides.size() + inputs.states.size() +
                    inputs.vectors.size()) {
    RNNLAB_INVARIANT(num_slopes_ <= kMostInputs, "more inputs than a program may have");
  }

  UnitStep run() {
    duals_.reserve(program_.graph.nodes().size());
    UnitStep step;
    step.operands.resize(program_.gates.size());
    for (const Node& node : program_.graph.nodes()) {
      if (node.operation == kHiddenProduct)
        step.operands[static_cast<size_t>(node.index)] = derived(at(node.arguments[0]));
      duals_.push_back(compute_dual(node));
    }
    for (const NodeId state : program_.new_states) step.states.push_back(derived(at(state)));
    step.distance_to_kink = distance_to_kink_;
    return step;
  }

 private:
  const Dual& at(NodeId id) const { return duals_[static_cast<size_t>(id)]; }

  static Dual input(const std::vector<double>& list, size_t first, int32_t index) {
    const auto place = static_cast<size_t>(index);
    RNNLAB_INVARIANT(place < list.size(), "the inputs do not fit the program");
    Dual dual{.value = list[place], .size = std::abs(list[place])};
    dual.slopes[first + place] = 1;
    return dual;
  }

  static Dual sum_of_products(Dual dual) {
    dual.size = 1;
    return dual;
  }

  // Returns f(a, b, c) from its value and its partial derivatives.
  Dual combined(double value, const Node& node, std::initializer_list<double> partial) const {
    Dual dual{.value = value};
    size_t number = 0;
    for (const double slope : partial) {
      const Dual& argument = at(node.arguments[number++]);
      if (slope == 0) continue;
      dual.size += std::abs(slope) * argument.size;
      for (size_t i = 0; i < num_slopes_; ++i)
        if (argument.slopes[i] != 0) dual.slopes[i] += slope * argument.slopes[i];
    }
    return dual;
  }

  // A value without a size is exact, such as a state that begins as 0.
  void note_kink(double distance, double size) {
    if (size > 0) distance_to_kink_ = std::min(distance_to_kink_, std::abs(distance) / size);
  }
  void note_kink_between(const Node& node) {
    const Dual &a = at(node.arguments[0]), &b = at(node.arguments[1]);
    note_kink(a.value - b.value, a.size + b.size);
  }

  Dual compute_dual(const Node& node) {
    const size_t num_gates = inputs_.input_sides.size();
    switch (node.operation) {
      case kNumber:
        return {.value = node.number};
      case kGate:
      case kInputSide:
        return sum_of_products(input(inputs_.input_sides, 0, node.index));
      case kHiddenSide:
      case kHiddenProduct:
        return sum_of_products(input(inputs_.hidden_sides, num_gates, node.index));
      case kState:
        return input(inputs_.states, 2 * num_gates, node.index);
      case kVector:
        return input(inputs_.vectors, 2 * num_gates + inputs_.states.size(), node.index);
      default:
        return function_of(node);
    }
  }

  Dual function_of(const Node& node) {
    const double a = at(node.arguments[0]).value;
    const double b = node.arguments[1] == kNoNode ? 0 : at(node.arguments[1]).value;
    const double c = node.arguments[2] == kNoNode ? 0 : at(node.arguments[2]).value;
    const double value = compute(node.operation, a, b, c);
    switch (node.operation) {
      case kNegate:
        return combined(value, node, {-1});
      case kSigmoid:
        return combined(value, node, {1 / (2 + std::exp(a) + std::exp(-a))});
      case kTanh:
        return combined(value, node, {1 / (std::cosh(a) * std::cosh(a))});
      case kRelu:
        note_kink(a, at(node.arguments[0]).size);
        return combined(value, node, {a > 0 ? 1.0 : 0.0});
      case kExp:
        return combined(value, node, {value});
      case kLog:
        return combined(value, node, {1 / a});
      case kSoftplus:
        return combined(value, node, {1 / (1 + std::exp(-a))});
      case kLogSigmoid:
        return combined(value, node, {1 / (1 + std::exp(a))});
      case kAbs:
        note_kink(a, at(node.arguments[0]).size);
        return combined(value, node, {a > 0 ? 1.0 : a < 0 ? -1.0 : 0.0});
      case kAdd:
        return combined(value, node, {1, 1});
      case kSubtract:
        return combined(value, node, {1, -1});
      case kMultiply:
        return combined(value, node, {b, a});
      case kDivide:
        return combined(value, node, {1 / b, -a / (b * b)});
      case kMin:
      case kMax:
        return extremum(value, node, a, b);
      case kWhere:
        return a != 0 ? combined(value, node, {0, 1, 0}) : combined(value, node, {0, 0, 1});
      case kLess:
      case kLessOrEqual:
      case kEqual:
        note_kink_between(node);
        return combined(value, node, {});
      case kConstant:
      case kSignOf:
        return combined(value, node, {});
      default:
        fail_invariant("a function", __FILE__, __LINE__, "function_of does not know the operation");
    }
  }

  Dual extremum(double value, const Node& node, double a, double b) {
    note_kink_between(node);
    if (a == b) return combined(value, node, {0.5, 0.5});
    const bool is_first = (a > b) == (node.operation == kMax);
    return is_first ? combined(value, node, {1, 0}) : combined(value, node, {0, 1});
  }

  DerivedValue derived(const Dual& dual) const {
    const double* next = dual.slopes.data();
    const auto take = [&](size_t count) {
      const double* first = next;
      next += count;
      return std::vector<double>(first, next);
    };
    DerivedValue all{.value = dual.value, .derivatives = {}};
    all.derivatives.input_sides = take(inputs_.input_sides.size());
    all.derivatives.hidden_sides = take(inputs_.hidden_sides.size());
    all.derivatives.states = take(inputs_.states.size());
    all.derivatives.vectors = take(inputs_.vectors.size());
    return all;
  }

  const CellProgram& program_;
  const UnitInputs& inputs_;
  size_t num_slopes_;
  std::vector<Dual> duals_;
  double distance_to_kink_ = std::numeric_limits<double>::infinity();
};

}  // namespace

UnitStep run_with_derivatives(const CellProgram& program, const UnitInputs& inputs) {
  return DualRun(program, inputs).run();
}

}  // namespace rnnlab
