// SPDX-License-Identifier: Apache-2.0
#include "layers/program/reverse_program.h"

#include <algorithm>

namespace rnnlab {
namespace {

using enum Operation;

class Adjoints {
 public:
  explicit Adjoints(const CellProgram& program) : program_(program) { reverse_.graph = program.graph; }

  ReverseProgram run() {
    reverse_.num_forward = graph().size();
    adjoints_.assign(static_cast<size_t>(graph().size()), kNoNode);
    for (size_t i = 0; i < program_.new_states.size(); ++i)
      add(program_.new_states[i], graph().leaf(kStateGradient, static_cast<int32_t>(i)));
    for (NodeId id = reverse_.num_forward; id-- > 0;)
      if (adjoint(id) != kNoNode) pass_on(id);
    collect();
    return std::move(reverse_);
  }

 private:
  Graph& graph() { return reverse_.graph; }
  NodeId& adjoint(NodeId id) { return adjoints_[static_cast<size_t>(id)]; }

  NodeId multiply(NodeId a, NodeId b) { return graph().add(kMultiply, a, b); }
  NodeId one_minus(NodeId a) { return graph().add(kSubtract, graph().number(1), a); }
  NodeId negate(NodeId a) { return graph().add(kNegate, a); }

  void add(NodeId id, NodeId gradient) {
    NodeId& sum = adjoint(id);
    sum = sum == kNoNode ? gradient : graph().add(kAdd, sum, gradient);
  }

  // Adds `gradient` where the condition holds, and 0 elsewhere: a product with 0 would be NaN for an infinite gradient.
  void add_where(NodeId id, NodeId condition, NodeId gradient) {
    add(id, graph().add(kWhere, condition, gradient, graph().number(0)));
  }
  void add_where_not(NodeId id, NodeId condition, NodeId gradient) {
    add(id, graph().add(kWhere, condition, graph().number(0), gradient));
  }

  // at::maximum and at::minimum give each of two equal arguments half of the gradient.
  void pass_on_extremum(NodeId a, NodeId b, NodeId gradient, bool is_max) {
    const NodeId half = multiply(graph().number(0.5), gradient);
    const auto shared = [&](NodeId own, NodeId other) {
      const NodeId loses = is_max ? graph().add(kLess, own, other) : graph().add(kLess, other, own);
      const NodeId alone = graph().add(kWhere, loses, graph().number(0), gradient);
      add(own, graph().add(kWhere, graph().add(kEqual, own, other), half, alone));
    };
    shared(a, b);
    shared(b, a);
  }

  // Adds the gradient of a node to those of its arguments. Slopes are computed from the node's own value if possible.
  void pass_on(NodeId id) {
    const Node node = graph()[id];  // a copy, because the graph grows
    const auto [a, b, c] = node.arguments;
    const NodeId g = adjoint(id);
    switch (node.operation) {
      case kNegate:
        return add(a, negate(g));
      case kSigmoid:
        return add(a, multiply(g, multiply(id, one_minus(id))));
      case kTanh:
        return add(a, multiply(g, one_minus(multiply(id, id))));
      case kRelu:
        return add_where_not(a, graph().add(kLessOrEqual, id, graph().number(0)), g);
      case kExp:
        return add(a, multiply(g, id));
      case kLog:
        return add(a, graph().add(kDivide, g, a));
      case kSoftplus:
        return add(a, multiply(g, graph().add(kSigmoid, a)));
      case kLogSigmoid:
        return add(a, multiply(g, one_minus(graph().add(kExp, id))));
      case kAbs:
        return add(a, multiply(g, graph().add(kSignOf, a)));
      case kAdd:
        add(a, g);
        return add(b, g);
      case kSubtract:
        add(a, g);
        return add(b, negate(g));
      case kMultiply:
        add(a, multiply(g, b));
        return add(b, multiply(g, a));
      case kDivide:
        add(a, graph().add(kDivide, g, b));
        return add(b, negate(graph().add(kDivide, multiply(g, id), b)));
      case kMin:
      case kMax:
        return pass_on_extremum(a, b, g, node.operation == kMax);
      case kWhere:
        add_where(b, a, g);
        return add_where_not(c, a, g);
      case kHiddenProduct:
        return add(a, graph().leaf(kProductGradient, node.index));
      case kNumber:
      case kGate:
      case kInputSide:
      case kHiddenSide:
      case kState:
      case kVector:
      case kStateGradient:
      case kProductGradient:
      case kConstant:
      case kSignOf:
      case kLess:
      case kLessOrEqual:
      case kEqual:
        return;
    }
  }

  void collect() {
    reverse_.input_sides.assign(program_.gates.size(), kNoNode);
    reverse_.hidden_sides = reverse_.input_sides;
    reverse_.states.assign(program_.states.size(), kNoNode);
    reverse_.vectors.assign(num_rows(program_.vectors), kNoNode);
    for (NodeId id = 0; id < reverse_.num_forward; ++id) {
      const Node& node = graph()[id];
      const auto index = static_cast<size_t>(node.index);
      if (node.operation == kGate || node.operation == kInputSide) reverse_.input_sides[index] = adjoint(id);
      if (node.operation == kGate || node.operation == kHiddenSide || node.operation == kHiddenProduct)
        reverse_.hidden_sides[index] = adjoint(id);
      if (node.operation == kState) reverse_.states[index] = adjoint(id);
      if (node.operation == kVector) reverse_.vectors[index] = adjoint(id);
    }
  }

  const CellProgram& program_;
  ReverseProgram reverse_;
  std::vector<NodeId> adjoints_;  // by node of the program
};

// Chooses the kept values. A value of the forward pass that the reverse pass reads is
// 1. free if it is a number, a vector, or a state before or after the step, all of which are stored anyway;
// 2. computed again if cheap operations, or a single function of a state, lead to it from free and kept values;
// 3. kept if it is a function's value or a gate's side; otherwise the same is asked of its arguments.
class KeptValues {
 public:
  KeptValues(const CellProgram& program, ReverseProgram& reverse) : program_(program), reverse_(reverse) {}

  void choose() {
    needed_.assign(static_cast<size_t>(reverse_.num_forward), false);
    noted_ = needed_;
    find_available();
    const std::vector<NodeId> read = nodes_that_are_read();
    for (const NodeId id : read) need(id);
    for (const NodeId id : read) note_recomputed(id);
    std::ranges::sort(reverse_.recomputed);
  }

 private:
  // Returns the nodes that the adjoints read, and those that are results themselves.
  std::vector<NodeId> nodes_that_are_read() const {
    const std::vector<bool> needed = needed_for(reverse_.graph, reverse_.results());
    std::vector<NodeId> read = reverse_.results();
    for (NodeId id = reverse_.num_forward; id < reverse_.graph.size(); ++id)
      if (needed[static_cast<size_t>(id)])
        for (const NodeId argument : arguments_of(reverse_.graph[id])) read.push_back(argument);
    return read;
  }

  bool is_kept(NodeId id) const { return std::ranges::count(reverse_.kept, id) > 0; }

  bool is_free(NodeId id) const {
    const Operation operation = reverse_.graph[id].operation;
    return operation == kNumber || operation == kVector || operation == kState || is_kept(id) ||
           std::ranges::count(program_.new_states, id) > 0;
  }

  static bool is_side(Operation operation) {
    return operation == kGate || operation == kInputSide || operation == kHiddenSide || operation == kHiddenProduct;
  }

  static bool is_function(Operation operation) {
    return operation == kSigmoid || operation == kTanh || operation == kRelu || operation == kExp ||
           operation == kLog || operation == kSoftplus || operation == kLogSigmoid;
  }

  bool is_available(NodeId id) const { return available_[static_cast<size_t>(id)]; }

  // Decides for all nodes of the program, whose arguments come before them, which are free or can be computed again.
  void find_available() {
    available_.assign(static_cast<size_t>(reverse_.num_forward), false);
    for (NodeId id = 0; id < reverse_.num_forward; ++id) {
      const Node& node = reverse_.graph[id];
      const auto is_state = [&](NodeId argument) {
        return reverse_.graph[argument].operation == kState || std::ranges::count(program_.new_states, argument) > 0;
      };
      const std::vector<NodeId> arguments = arguments_of(node);
      const bool follows = is_function(node.operation)
                               ? std::ranges::all_of(arguments, is_state)
                               : std::ranges::all_of(arguments, [&](NodeId one) { return is_available(one); });
      available_[static_cast<size_t>(id)] = is_free(id) || (follows && !is_side(node.operation));
    }
  }

  // Returns whether the node was not visited before.
  static bool visit(std::vector<bool>& visited, NodeId id) {
    const bool is_new = !visited[static_cast<size_t>(id)];
    visited[static_cast<size_t>(id)] = true;
    return is_new;
  }

  void need(NodeId id) {
    if (id >= reverse_.num_forward || is_free(id) || !visit(needed_, id)) return;
    const Node& node = reverse_.graph[id];
    if (is_available(id)) return;
    if (!is_function(node.operation) && !is_side(node.operation)) {
      for (const NodeId argument : arguments_of(node)) need(argument);
      return;
    }
    reverse_.kept.push_back(id);
    find_available();
  }

  void note_recomputed(NodeId id) {
    if (id >= reverse_.num_forward || is_free(id) || !visit(noted_, id)) return;
    const Node& node = reverse_.graph[id];
    if (is_function(node.operation)) reverse_.recomputed.push_back(id);
    for (const NodeId argument : arguments_of(node)) note_recomputed(argument);
  }

  const CellProgram& program_;
  ReverseProgram& reverse_;
  std::vector<bool> available_, needed_, noted_;  // by node of the program
};

}  // namespace

std::vector<NodeId> ReverseProgram::results() const {
  std::vector<NodeId> all;
  for (const auto* list : {&input_sides, &hidden_sides, &states, &vectors})
    for (const NodeId node : *list)
      if (node != kNoNode && std::ranges::count(all, node) == 0) all.push_back(node);
  return all;
}

ReverseProgram reverse_of(const CellProgram& program) {
  ReverseProgram reverse = Adjoints(program).run();
  KeptValues(program, reverse).choose();
  return reverse;
}

}  // namespace rnnlab
