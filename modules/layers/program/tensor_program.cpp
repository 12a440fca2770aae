// SPDX-License-Identifier: Apache-2.0
#include "layers/program/tensor_program.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/linear.h>

#include <array>

#include "layers/program/tensor_operations.h"

namespace rnnlab {

using enum Operation;

TensorProgram::TensorProgram(const CellProgram& program, CellWeights weights, int64_t hidden_size, int64_t heads)
    : program_(program) {
  size_t next = 0;
  const auto take = [&](bool is_there) { return is_there ? weights[next++] : at::Tensor(); };
  const at::Tensor weight_ih = take(program.num_input_gates() > 0), weight_hh = take(program.num_hidden_gates() > 0);
  const at::Tensor bias_ih = take(program.has_input_biases()), bias_hh = take(program.has_hidden_biases());
  int64_t input_row = 0, hidden_row = 0;
  const auto rows = [&](const at::Tensor& stacked, int64_t row) {
    return stacked.defined() ? stacked.narrow(0, row * hidden_size, hidden_size) : at::Tensor();
  };
  const auto blocks = [&](const at::Tensor& weight) {
    return heads == 1 ? weight : weight.reshape({heads, hidden_size / heads, -1}).transpose(1, 2);
  };
  for (const GateSides& gate : program.gates) {
    Side& input = input_sides_.emplace_back();
    Side& hidden = hidden_sides_.emplace_back();
    if (gate.reads_input) input = {rows(weight_ih, input_row), rows(bias_ih, input_row)};
    if (gate.reads_hidden) hidden = {blocks(rows(weight_hh, hidden_row)), rows(bias_hh, hidden_row)};
    input_row += gate.reads_input ? 1 : 0;
    hidden_row += gate.reads_hidden ? 1 : 0;
  }
  for (const LearnedVector& vector : program.vectors)
    for (const at::Tensor& row : weights[next++].chunk(vector.num_rows())) vectors_.push_back(row);
}

at::Tensor TensorProgram::input_side(size_t gate, const at::Tensor& x) const {
  return at::linear(x, input_sides_[gate].weight, input_sides_[gate].bias);
}

at::Tensor TensorProgram::hidden_side(size_t gate, const at::Tensor& h) const {
  const auto& [weight, bias] = hidden_sides_[gate];
  if (weight.dim() == 2) return at::linear(h, weight, bias);
  const at::Tensor by_head = h.reshape({h.size(0), weight.size(0), -1}).transpose(0, 1);
  const at::Tensor product = at::bmm(by_head, weight).transpose(0, 1).reshape(h.sizes());
  return bias.defined() ? product + bias : product;
}

CellStates TensorProgram::step(const at::Tensor& x, const CellStates& states) const {
  std::vector<Operand> values(program_.graph.nodes().size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Node& node = program_.graph.nodes()[i];
    const auto index = static_cast<size_t>(node.index);
    std::array<Operand, 3> operands;
    for (size_t k = 0; k < operands.size() && node.arguments[k] != kNoNode; ++k)
      operands[k] = values[static_cast<size_t>(node.arguments[k])];
    switch (node.operation) {
      case kNumber:
        values[i].number = node.number;
        break;
      case kGate:
        values[i].tensor = input_side(index, x) + hidden_side(index, states[0]);
        break;
      case kInputSide:
        values[i].tensor = input_side(index, x);
        break;
      case kHiddenSide:
        values[i].tensor = hidden_side(index, states[0]);
        break;
      case kHiddenProduct:
        values[i].tensor = hidden_side(index, whole(operands[0], states[0]));
        break;
      case kState:
        values[i].tensor = states[index];
        break;
      case kVector:
        values[i].tensor = vectors_[index];
        break;
      default:
        values[i].tensor = compute(node.operation, operands, states[0]);
    }
  }
  CellStates next;
  for (const NodeId state : program_.new_states) {
    const Operand& value = values[static_cast<size_t>(state)];
    next.push_back(whole(value, states[0]));
  }
  return next;
}

}  // namespace rnnlab
