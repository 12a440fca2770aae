// SPDX-License-Identifier: Apache-2.0
#include "layers/program/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"

namespace rnnlab {
namespace {

using enum Operation;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Interval {
  double least = -kInfinity, most = kInfinity;
};

Interval hull(const Interval& a, const Interval& b) { return {std::min(a.least, b.least), std::max(a.most, b.most)}; }

// Returns the interval of a function that is monotonic in each argument. A corner that is not a number, such as 0 times
// infinity, has no bounds.
Interval of_corners(Operation operation, const Interval& a, const Interval& b) {
  Interval result = {kInfinity, -kInfinity};
  for (const double x : {a.least, a.most})
    for (const double y : {b.least, b.most}) {
      const double value = compute(operation, x, y);
      if (std::isnan(value)) return {};
      result = hull(result, {value, value});
    }
  return result;
}

class Bounds {
 public:
  explicit Bounds(const Graph& graph) : graph_(graph) {
    for (NodeId id = 0; id < graph.size(); ++id) bounds_.push_back(of_node(id));
  }

  const Interval& operator[](NodeId id) const { return bounds_[static_cast<size_t>(id)]; }

 private:
  Interval of_node(NodeId id) const {
    const Node& node = graph_[id];
    const auto [a, b, c] = node.arguments;
    switch (node.operation) {
      case kNumber:
        return {node.number, node.number};
      case kState:
        return node.index == 0 ? Interval{-1, 1} : Interval{};
      case kSigmoid:
      case kTanh:
      case kRelu:
      case kExp:
      case kSoftplus:
      case kLogSigmoid:
      case kNegate:
      case kConstant:
      case kSignOf:
        return of_corners(node.operation, (*this)[a], {0, 0});
      case kAbs:
        return {0, std::max(std::abs((*this)[a].least), std::abs((*this)[a].most))};
      case kAdd:
        if (const auto between = of_mixture(a, b)) return *between;
        return of_corners(kAdd, (*this)[a], (*this)[b]);
      case kSubtract:
      case kMultiply:
      case kMin:
      case kMax:
        return of_corners(node.operation, (*this)[a], (*this)[b]);
      case kLess:
      case kLessOrEqual:
      case kEqual:
        return {0, 1};
      case kWhere:
        return hull((*this)[b], (*this)[c]);
      case kGate:
      case kInputSide:
      case kHiddenSide:
      case kVector:
      case kStateGradient:
      case kProductGradient:
      case kHiddenProduct:
      case kLog:
      case kDivide:
        return {};
    }
    fail_invariant("a listed operation", __FILE__, __LINE__, "of_node does not know the operation");
  }

  // Returns the interval of a sum if it is x between y and z: f * y + (1 - f) * z, or z + f * (y - z), with f in [0,
  // 1].
  std::optional<Interval> of_mixture(NodeId a, NodeId b) const {
    for (const auto& [first, second] : {std::pair(a, b), std::pair(b, a)}) {
      if (const auto result = of_two_products(graph_[first], graph_[second])) return result;
      if (const auto result = of_step_towards(first, graph_[second])) return result;
    }
    return std::nullopt;
  }

  std::optional<Interval> of_two_products(const Node& first, const Node& second) const {
    if (first.operation != kMultiply || second.operation != kMultiply) return std::nullopt;
    for (const int i : {0, 1})
      for (const int j : {0, 1}) {
        const NodeId factor = argument(first, i), rest = argument(second, j);
        if (is_fraction(factor) && is_one_minus(graph_[rest], factor))
          return hull((*this)[argument(first, 1 - i)], (*this)[argument(second, 1 - j)]);
      }
    return std::nullopt;
  }

  std::optional<Interval> of_step_towards(NodeId from, const Node& step) const {
    if (step.operation != kMultiply) return std::nullopt;
    for (const int i : {0, 1}) {
      const Node& way = graph_[argument(step, 1 - i)];
      if (is_fraction(argument(step, i)) && way.operation == kSubtract && argument(way, 1) == from)
        return hull((*this)[from], (*this)[argument(way, 0)]);
    }
    return std::nullopt;
  }

  static NodeId argument(const Node& node, int i) { return node.arguments[static_cast<size_t>(i)]; }
  bool is_fraction(NodeId id) const { return (*this)[id].least >= 0 && (*this)[id].most <= 1; }
  bool is_one_minus(const Node& node, NodeId other) const {
    if (node.operation != kSubtract || argument(node, 1) != other) return false;
    const Node& one = graph_[argument(node, 0)];
    return one.operation == kNumber && one.number == 1;
  }

  const Graph& graph_;
  std::vector<Interval> bounds_;  // by node
};

}  // namespace

bool stays_within_one(const CellProgram& program) {
  const Interval& bounds = Bounds(program.graph)[program.new_states.front()];
  return bounds.least >= -1 && bounds.most <= 1;
}

}  // namespace rnnlab
