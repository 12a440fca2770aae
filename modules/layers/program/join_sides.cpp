// SPDX-License-Identifier: Apache-2.0
#include "layers/program/join_sides.h"

#include <optional>
#include <vector>

namespace rnnlab {
namespace {

class JoinedSides {
 public:
  explicit JoinedSides(const CellProgram& program)
      : program_(program), old_(program.graph), moved_(old_.nodes().size(), kNoNode), readers_(moved_.size()) {
    const std::vector<bool> needed = needed_for(old_, program.new_states);
    for (NodeId id = 0; id < old_.size(); ++id)
      if (needed[static_cast<size_t>(id)]) count_reader(id);
    for (const NodeId state : program.new_states) readers(state) += 1;
  }

  CellProgram run() {
    CellProgram result = program_;
    result.graph = Graph();
    // Sums first: their sides then have no reader left, and are not copied.
    for (NodeId id = 0; id < old_.size(); ++id)
      if (readers(id) > 0 && gate_of_sum(id))
        for (const NodeId side : arguments_of(old_[id])) readers(side) = 0;
    for (NodeId id = 0; id < old_.size(); ++id)
      if (readers(id) > 0) moved_[static_cast<size_t>(id)] = copy(id, result.graph);
    for (NodeId& state : result.new_states) state = moved(state);
    return result;
  }

 private:
  int& readers(NodeId id) { return readers_[static_cast<size_t>(id)]; }

  void count_reader(NodeId id) {
    for (const NodeId argument : arguments_of(old_[id])) readers(argument) += 1;
  }

  NodeId moved(NodeId id) const { return id == kNoNode ? kNoNode : moved_[static_cast<size_t>(id)]; }

  // Returns the gate if the node is the only reader of both sides of one gate, or if these were removed for it.
  std::optional<int32_t> gate_of_sum(NodeId id) {
    const Node& node = old_[id];
    if (node.operation != Operation::kAdd) return std::nullopt;
    const Node &a = old_[node.arguments[0]], &b = old_[node.arguments[1]];
    const bool are_sides = (a.operation == Operation::kInputSide && b.operation == Operation::kHiddenSide) ||
                           (a.operation == Operation::kHiddenSide && b.operation == Operation::kInputSide);
    if (!are_sides || a.index != b.index) return std::nullopt;
    if (readers(node.arguments[0]) > 1 || readers(node.arguments[1]) > 1) return std::nullopt;
    return a.index;
  }

  NodeId copy(NodeId id, Graph& graph) {
    const Node& node = old_[id];
    if (const auto gate = gate_of_sum(id)) return graph.leaf(Operation::kGate, *gate);
    if (node.operation == Operation::kNumber) return graph.number(node.number);
    if (node.operation == Operation::kHiddenProduct) return graph.hidden_product(node.index, moved(node.arguments[0]));
    if (info_of(node.operation).num_arguments == 0) return graph.leaf(node.operation, node.index);
    return graph.add(node.operation, moved(node.arguments[0]), moved(node.arguments[1]), moved(node.arguments[2]));
  }

  const CellProgram& program_;
  const Graph& old_;
  std::vector<NodeId> moved_;
  std::vector<int> readers_;  // of each node that is needed; 0 if it is left out
};

}  // namespace

CellProgram with_joined_sides(const CellProgram& program) { return JoinedSides(program).run(); }

}  // namespace rnnlab
