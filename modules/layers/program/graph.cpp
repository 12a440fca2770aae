// SPDX-License-Identifier: Apache-2.0
#include "layers/program/graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace rnnlab {
namespace {

using enum Operation;

constexpr OperationInfo kOperations[] = {
    {"number", kNumber},
    {"gate", kGate},
    {"input_side", kInputSide},
    {"hidden_side", kHiddenSide},
    {"state", kState},
    {"vector", kVector},
    {"state_gradient", kStateGradient},
    {"product_gradient", kProductGradient},
    {"hidden_product", kHiddenProduct, Notation::kHidden, 1},
    {"negate", kNegate, Notation::kHidden, 1},
    {"sigmoid", kSigmoid, Notation::kFunction, 1},
    {"tanh", kTanh, Notation::kFunction, 1},
    {"relu", kRelu, Notation::kFunction, 1},
    {"exp", kExp, Notation::kFunction, 1},
    {"log", kLog, Notation::kFunction, 1},
    {"softplus", kSoftplus, Notation::kFunction, 1},
    {"log_sigmoid", kLogSigmoid, Notation::kFunction, 1},
    {"abs", kAbs, Notation::kFunction, 1},
    {"sign", kSignOf, Notation::kHidden, 1},
    {"constant", kConstant, Notation::kFunction, 1},
    {"+", kAdd, Notation::kSign, 2, true},
    {"-", kSubtract, Notation::kSign, 2},
    {"*", kMultiply, Notation::kSign, 2, true},
    {"/", kDivide, Notation::kSign, 2},
    {"min", kMin, Notation::kFunction, 2, true},
    {"max", kMax, Notation::kFunction, 2, true},
    {"<", kLess, Notation::kSign, 2},
    {"<=", kLessOrEqual, Notation::kSign, 2},
    {"==", kEqual, Notation::kSign, 2, true},
    {"where", kWhere, Notation::kFunction, 3},
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The threshold is that of at::softplus.
double softplus(double x) {
  constexpr double kThreshold = 20;
  return x > kThreshold ? x : std::log1p(std::exp(x));
}

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

// NaN is the result if an argument is NaN, as in at::minimum and at::maximum.
double smaller(double a, double b) { return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b); }
double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b); }

}  // namespace

const OperationInfo& info_of(Operation operation) {
  const auto index = static_cast<size_t>(operation);
  RNNLAB_INVARIANT(index < std::size(kOperations) && kOperations[index].operation == operation,
                   "the list of operations is not in the order of the enumeration");
  return kOperations[index];
}

std::optional<Operation> function_with(std::string_view name) {
  const auto* found = std::ranges::find(kOperations, name, &OperationInfo::name);
  if (found == std::end(kOperations) || found->notation != Notation::kFunction) return std::nullopt;
  return found->operation;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const OperationInfo& one : kOperations)
    if (one.notation == Notation::kFunction) names.emplace_back(one.name);
  return names;
}

double compute(Operation operation, double a, double b, double c) {
  switch (operation) {
    case kNegate:
      return -a;
    case kSigmoid:
      return sigmoid(a);
    case kTanh:
      return std::tanh(a);
    case kRelu:
      return a > 0 || std::isnan(a) ? a : 0;
    case kExp:
      return std::exp(a);
    case kLog:
      return std::log(a);
    case kSoftplus:
      return softplus(a);
    case kLogSigmoid:
      return std::min(0.0, a) - std::log1p(std::exp(-std::abs(a)));
    case kAbs:
      return std::abs(a);
    case kSignOf:
      return sign(a);
    case kConstant:
      return a;
    case kAdd:
      return a + b;
    case kSubtract:
      return a - b;
    case kMultiply:
      return a * b;
    case kDivide:
      return a / b;
    case kMin:
      return smaller(a, b);
    case kMax:
      return larger(a, b);
    case kLess:
      return a < b ? 1 : 0;
    case kLessOrEqual:
      return a <= b ? 1 : 0;
    case kEqual:
      return a == b ? 1 : 0;
    case kWhere:
      return a != 0 ? b : c;
    case kNumber:
    case kGate:
    case kInputSide:
    case kHiddenSide:
    case kState:
    case kVector:
    case kStateGradient:
    case kProductGradient:
    case kHiddenProduct:
      break;
  }
  fail_invariant("an operation on numbers", __FILE__, __LINE__, "a leaf is not computed");
}

NodeId Graph::number(double value) { return node({.operation = kNumber, .number = value}); }

NodeId Graph::leaf(Operation operation, int32_t index) { return node({.operation = operation, .index = index}); }

NodeId Graph::hidden_product(int32_t gate, NodeId operand) {
  return node({.operation = kHiddenProduct, .arguments = {operand, kNoNode, kNoNode}, .index = gate});
}

NodeId Graph::add(Operation operation, NodeId a, NodeId b, NodeId c) {
  if (const auto simple = simpler(operation, a, b, c)) return *simple;
  if (info_of(operation).is_commutative && b < a) std::swap(a, b);
  return node({.operation = operation, .arguments = {a, b, c}});
}

bool Graph::is_number(NodeId node, double value) const {
  return (*this)[node].operation == kNumber && (*this)[node].number == value;
}

NodeId Graph::node(Node wanted) {
  // A map orders numbers by their bits, because NaN has no order and 0 equals -0.
  Node key = wanted;
  if (key.operation == kNumber) {
    const auto bits = std::bit_cast<std::array<int32_t, 2>>(wanted.number);
    key = {.operation = kNumber, .arguments = {bits[0], bits[1], kNoNode}};
  }
  const auto [found, is_new] = known_.emplace(key, size());
  if (is_new) nodes_.push_back(wanted);
  return found->second;
}

std::optional<NodeId> Graph::simpler(Operation operation, NodeId a, NodeId b, NodeId c) {
  const int count = info_of(operation).num_arguments;
  const auto value = [&](NodeId id) { return id == kNoNode ? 0 : (*this)[id].number; };
  const auto is_constant = [&](NodeId id) { return id == kNoNode || (*this)[id].operation == kNumber; };
  if (operation == kWhere && is_constant(a)) return value(a) != 0 ? b : c;
  if (count > 0 && operation != kWhere && is_constant(a) && is_constant(b))
    return number(compute(operation, value(a), value(b)));
  if (operation == kMultiply && is_number(b, 1)) return a;
  if (operation == kMultiply && is_number(a, 1)) return b;
  if ((operation == kAdd || operation == kSubtract) && is_number(b, 0)) return a;
  if (operation == kAdd && is_number(a, 0)) return b;
  if (operation == kDivide && is_number(b, 1)) return a;
  if (operation == kNegate && (*this)[a].operation == kNegate) return (*this)[a].arguments[0];
  if (operation == kWhere && b == c) return b;
  return std::nullopt;
}

std::vector<bool> needed_for(const Graph& graph, const std::vector<NodeId>& results) {
  std::vector<bool> needed(graph.nodes().size(), false);
  for (const NodeId result : results)
    if (result != kNoNode) needed[static_cast<size_t>(result)] = true;
  for (size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const NodeId argument : arguments_of(graph.nodes()[i])) needed[static_cast<size_t>(argument)] = true;
  }
  return needed;
}

}  // namespace rnnlab
