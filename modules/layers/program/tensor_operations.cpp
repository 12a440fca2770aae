// SPDX-License-Identifier: Apache-2.0
#include "layers/program/tensor_operations.h"

#include <ATen/ScalarOps.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
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

#include "base/error.h"

namespace rnnlab {
namespace {

using enum Operation;

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

at::Tensor compute(Operation operation, std::span<const Operand> operands, const at::Tensor& like) {
  if (operation == kWhere) return select(operands[0].tensor, operands[1], operands[2], like);
  if (info_of(operation).num_arguments == 1) return function_of(operation, operands[0].tensor);
  return combine(operation, operands[0], operands[1]);
}

at::Tensor whole(const Operand& operand, const at::Tensor& like) {
  return operand.number ? at::full_like(like, *operand.number) : operand.tensor.expand_as(like);
}

}  // namespace rnnlab
