// SPDX-License-Identifier: Apache-2.0
// Graphs of the operations of cells' equations (operation.h), and what is known of each operation. A node computes one
// number of one unit of one sequence at one step. Nodes are in the order in which they can be computed, and equal nodes
// are one node. Products with weights are leaves here: the schedules (layers) compute them. Without LibTorch.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layers/program/operation.h"

namespace rnnlab {

// How an operation is written in equations. kHidden: it cannot be written, or by the names of gates and states.
enum class Notation { kHidden, kFunction, kSign };

struct OperationInfo {
  std::string_view name;  // "sigmoid", "+"; never changes, because hashes of programs contain it
  Operation operation;
  Notation notation = Notation::kHidden;
  int num_arguments = 0;
  bool is_commutative = false;
};

const OperationInfo& info_of(Operation operation);

// Returns the function of equations with this name.
std::optional<Operation> function_with(std::string_view name);

// Returns the names of all functions of equations.
std::vector<std::string> function_names();

using NodeId = int32_t;
inline constexpr NodeId kNoNode = -1;

struct Node {
  Operation operation = Operation::kNumber;
  std::array<NodeId, 3> arguments = {kNoNode, kNoNode, kNoNode};
  int32_t index = 0;  // of the gate, state or vector
  double number = 0;

  auto operator<=>(const Node&) const = default;
};

class Graph {
 public:
  // These functions return the node, which is a new one only if there is no equal node. Numbers are folded, and
  // additions of 0, multiplications by 1 and the like are left out; nothing else changes the result of an expression.
  NodeId number(double value);
  NodeId leaf(Operation operation, int32_t index);
  NodeId hidden_product(int32_t gate, NodeId operand);
  NodeId add(Operation operation, NodeId a, NodeId b = kNoNode, NodeId c = kNoNode);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& operator[](NodeId node) const { return nodes_[static_cast<size_t>(node)]; }
  NodeId size() const { return static_cast<NodeId>(nodes_.size()); }

 private:
  bool is_number(NodeId node, double value) const;
  NodeId node(Node wanted);
  std::optional<NodeId> simpler(Operation operation, NodeId a, NodeId b, NodeId c);

  std::vector<Node> nodes_;
  std::map<Node, NodeId> known_;  // numbers by their bits
};

// Returns the arguments of a node that are nodes.
inline std::vector<NodeId> arguments_of(const Node& node) {
  std::vector<NodeId> arguments;
  for (const NodeId argument : node.arguments)
    if (argument != kNoNode) arguments.push_back(argument);
  return arguments;
}

// Returns which nodes are needed to compute `results`, themselves included.
std::vector<bool> needed_for(const Graph& graph, const std::vector<NodeId>& results);

// Returns the result for numbers, as LibTorch computes it in float64. Not for leaves.
double compute(Operation operation, double a, double b = 0, double c = 0);

}  // namespace rnnlab
