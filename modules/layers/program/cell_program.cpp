// SPDX-License-Identifier: Apache-2.0
#include "layers/program/cell_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/sha256.h"
#include "base/text.h"

namespace rnnlab {
namespace {

class CanonicalText {
 public:
  explicit CanonicalText(const Graph& graph) : graph_(graph), texts_(graph.nodes().size()) {}

  // Returns a hash of the node's text, which stands for it in the texts of its readers.
  const std::string& of(NodeId id) {
    std::string& text = texts_[static_cast<size_t>(id)];
    if (text.empty()) text = Sha256().update(text_of(graph_[id])).hex();
    return text;
  }

 private:
  std::string text_of(const Node& node) {
    if (node.operation == Operation::kNumber) return fmt::format("number {:x}", std::bit_cast<uint64_t>(node.number));
    std::vector<std::string> arguments;
    for (const NodeId argument : arguments_of(node)) arguments.push_back(of(argument));
    if (info_of(node.operation).is_commutative) std::ranges::sort(arguments);
    return fmt::format("{} {} {}", info_of(node.operation).name, node.index, join(arguments, " "));
  }

  const Graph& graph_;
  std::vector<std::string> texts_;
};

}  // namespace

size_t num_rows(const std::vector<LearnedVector>& vectors) {
  size_t rows = 0;
  for (const LearnedVector& vector : vectors) rows += static_cast<size_t>(vector.num_rows());
  return rows;
}

int64_t CellProgram::num_input_gates() const { return std::ranges::count(gates, true, &GateSides::reads_input); }

int64_t CellProgram::num_hidden_gates() const { return std::ranges::count(gates, true, &GateSides::reads_hidden); }

bool CellProgram::has_dependent_product() const {
  return std::ranges::count(graph.nodes(), Operation::kHiddenProduct, &Node::operation) > 0;
}

std::string CellProgram::canonical_text() const {
  std::string text = fmt::format("biases {} {}\nheads {}\n", has_input_biases(), has_hidden_biases(),
                                 has_heads && num_hidden_gates() > 0);
  for (const GateSides& gate : gates) text += fmt::format("gate {} {}\n", gate.reads_input, gate.reads_hidden);
  for (const LearnedVector& vector : vectors) text += fmt::format("vector {} {}\n", vector.name, vector.num_rows());
  CanonicalText texts(graph);
  for (const NodeId state : new_states) text += fmt::format("state {}\n", texts.of(state));
  return text;
}

}  // namespace rnnlab
