// SPDX-License-Identifier: Apache-2.0
#include "layers/program/tensor_program.h"

#include <ATen/ScalarOps.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>

#include <optional>

#include "base/error.h"

namespace rnnlab {
namespace {

using enum Operation;

// A number of the equations stays a number, so that its type does not change that of a result.
struct Operand {
  at::Tensor tensor;
  std::optional<double> number;
};

// Calls `apply` with each operand as a tensor or as a number. Two numbers were folded, also in conditions.
template <class Apply>
at::Tensor with_operands(const Operand& a, const Operand& b, Apply apply) {
  if (a.number) return apply(at::Scalar(*a.number), b.tensor);
  if (b.number) return apply(a.tensor, at::Scalar(*b.number));
  return apply(a.tensor, b.tensor);
}

at::Tensor as_tensor(const Operand& operand, const at::Tensor& like) {
  return operand.number ? at::scalar_tensor(*operand.number, like.options()) : operand.tensor;
}

// at::maximum and at::minimum take tensors alone.
template <class Apply>
at::Tensor with_tensors(const Operand& a, const Operand& b, Apply apply) {
  return apply(as_tensor(a, b.tensor), as_tensor(b, a.tensor));
}

at::Tensor compare(Operation operation, const Operand& a, const Operand& b) {
  // A number on the left is moved to the right.
  if (a.number) {
    const at::Scalar number(*a.number);
    if (operation == kLess) return b.tensor > number;
    return operation == kLessOrEqual ? b.tensor >= number : b.tensor == number;
  }
  return with_operands(a, b, [&](const auto& left, const auto& right) -> at::Tensor {
    if (operation == kLess) return left < right;
    return operation == kLessOrEqual ? left <= right : left == right;
  });
}

// Two numbers become those of the type of `like`.
at::Tensor select(const at::Tensor& condition, const Operand& yes, const Operand& no, const at::Tensor& like) {
  if (yes.number && no.number)
    return at::where(condition, at::scalar_tensor(*yes.number, like.options()), at::Scalar(*no.number));
  return with_operands(yes, no, [&](const auto& a, const auto& b) { return at::where(condition, a, b); });
}

// Returns a value for each sequence and unit: a number and a learned vector have none for sequences.
at::Tensor whole(const Operand& operand, const at::Tensor& like) {
  return operand.number ? at::full_like(like, *operand.number) : operand.tensor.expand_as(like);
}

at::Tensor function_of(Operation operation, const at::Tensor& a) {
  switch (operation) {
    case kNegate:
      return -a;
    case kSigmoid:
      return at::sigmoid(a);
    case kTanh:
      return at::tanh(a);
    case kRelu:
      return at::relu(a);
    case kExp:
      return at::exp(a);
    case kLog:
      return at::log(a);
    case kSoftplus:
      return at::softplus(a);
    case kLogSigmoid:
      return at::log_sigmoid(a);
    case kAbs:
      return at::abs(a);
    case kSignOf:
      return at::sign(a);
    case kConstant:
      return a.detach();
    default:
      fail_invariant("a function of one number", __FILE__, __LINE__, "function_of does not know the operation");
  }
}

at::Tensor combine(Operation operation, const Operand& a, const Operand& b) {
  switch (operation) {
    case kAdd:
      return with_operands(a, b, [](const auto& x, const auto& y) { return x + y; });
    case kSubtract:
      return with_operands(a, b, [](const auto& x, const auto& y) { return x - y; });
    case kMultiply:
      return with_operands(a, b, [](const auto& x, const auto& y) { return x * y; });
    case kDivide:
      return with_operands(a, b, [](const auto& x, const auto& y) { return x / y; });
    case kMin:
      return with_tensors(a, b, [](const at::Tensor& x, const at::Tensor& y) { return at::minimum(x, y); });
    case kMax:
      return with_tensors(a, b, [](const at::Tensor& x, const at::Tensor& y) { return at::maximum(x, y); });
    case kLess:
    case kLessOrEqual:
    case kEqual:
      return compare(operation, a, b);
    default:
      fail_invariant("a function of two numbers", __FILE__, __LINE__, "combine does not know the operation");
  }
}

}  // namespace

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
    const auto at = [&](size_t argument) -> const Operand& {
      return values[static_cast<size_t>(node.arguments[argument])];
    };
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
        values[i].tensor = hidden_side(index, whole(at(0), states[0]));
        break;
      case kState:
        values[i].tensor = states[index];
        break;
      case kVector:
        values[i].tensor = vectors_[index];
        break;
      case kWhere:
        values[i].tensor = select(at(0).tensor, at(1), at(2), states[0]);
        break;
      default:
        values[i].tensor = info_of(node.operation).num_arguments == 1 ? function_of(node.operation, at(0).tensor)
                                                                      : combine(node.operation, at(0), at(1));
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
