// SPDX-License-Identifier: Apache-2.0
#include "layers/program/describe_program.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

class ProgramText {
 public:
  ProgramText(const CellProgram& program, const Graph& graph) : program_(program), graph_(graph) {}

  // Returns how an expression names the node: leaves and numbers by themselves, others by their line.
  std::string name_of(NodeId id) const {
    const Node& node = graph_[id];
    const auto index = static_cast<size_t>(node.index);
    switch (node.operation) {
      case Operation::kNumber:
        return format_shortest(node.number);
      case Operation::kGate:
        return program_.gates[index].name;
      case Operation::kInputSide:
        return "x." + program_.gates[index].name;
      case Operation::kHiddenSide:
        return "h." + program_.gates[index].name;
      case Operation::kState:
        return program_.states[index];
      case Operation::kVector:
        return vector_name(node.index);
      case Operation::kStateGradient:
        return "d " + program_.states[index] + "'";
      case Operation::kProductGradient:
        return "d h." + program_.gates[index].name + "()";
      default:
        return fmt::format("v{}", id);
    }
  }

  std::string expression_of(NodeId id) const {
    const Node& node = graph_[id];
    const OperationInfo& info = info_of(node.operation);
    std::vector<std::string> arguments;
    for (const NodeId argument : arguments_of(node)) arguments.push_back(name_of(argument));
    if (node.operation == Operation::kNegate) return "-" + arguments[0];
    if (node.operation == Operation::kHiddenProduct)
      return fmt::format("h.{}({})", program_.gates[static_cast<size_t>(node.index)].name, arguments[0]);
    if (info.notation == Notation::kSign) return fmt::format("{} {} {}", arguments[0], info.name, arguments[1]);
    if (info.num_arguments == 0) return name_of(id);
    return fmt::format("{}({})", info.name, join(arguments, ", "));
  }

  std::string lines(NodeId first, const std::vector<NodeId>& results) const {
    const std::vector<bool> needed = needed_for(graph_, results);
    std::string text;
    for (NodeId id = first; id < graph_.size(); ++id)
      if (needed[static_cast<size_t>(id)] && info_of(graph_[id].operation).num_arguments > 0)
        text += fmt::format("  v{} = {}\n", id, expression_of(id));
    return text;
  }

  std::string vector_name(int32_t row) const {
    for (const LearnedVector& vector : program_.vectors) {
      if (row < vector.num_rows()) return vector.row_name(row);
      row -= static_cast<int32_t>(vector.num_rows());
    }
    fail_invariant("a row of a vector", __FILE__, __LINE__, "the program has fewer rows of vectors");
  }

 private:
  const CellProgram& program_;
  const Graph& graph_;
};

}  // namespace

std::string program_text(const CellProgram& program) {
  const ProgramText text(program, program.graph);
  std::string lines = text.lines(0, program.new_states);
  for (size_t i = 0; i < program.states.size(); ++i)
    lines += fmt::format("  {}' = {}\n", program.states[i], text.name_of(program.new_states[i]));
  return lines;
}

std::string reverse_text(const CellProgram& program, const ReverseProgram& reverse) {
  const ProgramText text(program, reverse.graph);
  std::string lines = text.lines(reverse.num_forward, reverse.results());
  const auto add = [&](const std::string& name, NodeId gradient) {
    if (gradient != kNoNode) lines += fmt::format("  d {} = {}\n", name, text.name_of(gradient));
  };
  for (size_t i = 0; i < program.gates.size(); ++i) {
    const GateSides& gate = program.gates[i];
    add(gate.is_sum ? gate.name : "x." + gate.name, reverse.input_sides[i]);
    if (!gate.is_sum) add("h." + gate.name, reverse.hidden_sides[i]);
  }
  for (size_t i = 0; i < program.states.size(); ++i) add(program.states[i], reverse.states[i]);
  for (size_t i = 0; i < reverse.vectors.size(); ++i)
    add(text.vector_name(static_cast<int32_t>(i)), reverse.vectors[i]);
  return lines;
}

std::string kept_text(const CellProgram& program, const ReverseProgram& reverse) {
  const ProgramText text(program, reverse.graph);
  std::vector<std::string> kept;
  for (const NodeId id : reverse.kept) kept.push_back(text.expression_of(id));
  return kept.empty() ? "nothing" : join(kept, ", ");
}

}  // namespace rnnlab
