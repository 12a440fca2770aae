// SPDX-License-Identifier: Apache-2.0
#include "layers/persistent/products.h"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/Exceptions.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAStream.h>

#include "base/error.h"
#include "layers/device/number_types.h"
#include "layers/device/run_kernels.h"
#include "layers/persistent/operand_conversion.h"
#include "layers/persistent/shared/passes.h"
#include "layers/unrolled/recurrent_product.h"

namespace rnnlab {
namespace {

bool is_large(const at::Tensor& left, int64_t columns) {
  return static_cast<double>(left.numel()) * static_cast<double>(columns) >= kLeastMultiplications;
}

// The kernels load 16 bytes at a time.
bool is_aligned(const at::Tensor& matrix) { return reinterpret_cast<uintptr_t>(matrix.const_data_ptr()) % 16 == 0; }

// A matrix for cuBLAS, whose columns are dense: transposed if the rows of the matrix are dense.
struct ColumnMajor {
  cublasOperation_t operation;
  int stride;
};

ColumnMajor transposed_of(const at::Tensor& matrix) {
  if (matrix.stride(1) == 1) return {CUBLAS_OP_N, static_cast<int>(matrix.stride(0))};
  RNNLAB_INVARIANT(matrix.stride(0) == 1, "cuBLAS needs a matrix with dense rows or columns");
  return {CUBLAS_OP_T, static_cast<int>(matrix.stride(1))};
}

// Calls cuBLAS with a scale of the product that is on the device, which LibTorch's functions do not accept; scaling the
// result would take a separate pass over it. out^T = right^T left^T, because cuBLAS stores columns first. scales: the
// scale of the product, and 0 for the previous content of `out`.
void multiply_times(const at::Tensor& scales, const at::Tensor& out, const at::Tensor& left, const at::Tensor& right) {
  const cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
  const float* alpha = scales.const_data_ptr<float>();
  const auto [left_operation, left_stride] = transposed_of(left);
  const auto [right_operation, right_stride] = transposed_of(right);
  TORCH_CUDABLAS_CHECK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  const cublasStatus_t status = cublasGemmEx(handle, right_operation, left_operation, static_cast<int>(out.size(1)),
                                             static_cast<int>(out.size(0)), static_cast<int>(left.size(1)), alpha,
                                             right.const_data_ptr(), CUDA_R_16F, right_stride, left.const_data_ptr(),
                                             CUDA_R_16F, left_stride, alpha + 1, out.mutable_data_ptr(), CUDA_R_32F,
                                             static_cast<int>(out.stride(0)), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  TORCH_CUDABLAS_CHECK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
  TORCH_CUDABLAS_CHECK(status);
}

// Whole vectors of 16 bytes are sufficient for a fast kernel; otherwise rows are padded to whole tiles.
int64_t whole_columns(int64_t columns) {
  constexpr int64_t kVector = 8, kTile = 64;
  return columns % kVector == 0 ? columns : (columns + kTile - 1) / kTile * kTile;
}

Operand scaled_half(const at::Tensor& matrix, int64_t columns, const at::Tensor& largest) {
  const bool is_known = largest.defined();
  const at::Tensor bits = is_known ? largest : at::zeros({1}, matrix.options().dtype(at::kInt));
  Operand operand = {at::empty({matrix.size(0), columns}, matrix.options().dtype(at::kHalf)),
                     at::empty({2}, matrix.options())};
  started_on_device([&] {
    kernels::scale_to_half({.numbers = matrix.const_data_ptr<float>(),
                            .rows = matrix.size(0),
                            .columns = matrix.size(1),
                            .half_columns = columns,
                            .half = operand.values.data_ptr(),
                            .largest = bits.mutable_data_ptr<int32_t>(),
                            .knows_largest = is_known,
                            .unscale = operand.unscale.mutable_data_ptr<float>()},
                           c10::cuda::getCurrentCUDAStream(matrix.device().index()).stream());
  });
  return operand;
}

// Copies the matrix in the type of `padded`, with as many columns.
void pad(const at::Tensor& matrix, const at::Tensor& padded) {
  RNNLAB_INVARIANT(matrix.is_contiguous() && padded.size(1) % 8 == 0,
                   "padding needs a matrix with dense rows, and a result whose rows are whole vectors");
  started_on_device([&] {
    kernels::pad_rows({.numbers = matrix.const_data_ptr(),
                       .from = element_type(matrix.scalar_type()),
                       .rows = matrix.size(0),
                       .columns = matrix.size(1),
                       .padded = padded.mutable_data_ptr(),
                       .type = element_type(padded.scalar_type()),
                       .padded_columns = padded.size(1)},
                      c10::cuda::getCurrentCUDAStream(matrix.device().index()).stream());
  });
}

}  // namespace

// The conversion takes longer than it saves for smaller products, and odd sizes run on slow kernels.
bool gains_by_half(const at::Tensor& left, const at::Tensor& right) {
  if (left.scalar_type() != at::kFloat || !rounds_to_tf32()) return false;
  if (!is_aligned(left) || !is_aligned(right)) return false;
  if (left.size(0) % 8 != 0 || left.size(1) % 8 != 0 || right.size(1) % 8 != 0) return false;
  return is_large(left, right.size(1));
}

Operand scaled_half(const at::Tensor& matrix, const at::Tensor& largest) {
  RNNLAB_INVARIANT(matrix.is_contiguous() && matrix.numel() % 4 == 0, "scaling needs a dense matrix of whole vectors");
  return scaled_half(matrix, matrix.size(1), largest);
}

bool gains_by_input_operand(const at::Tensor& input, const at::Tensor& weight_ih) {
  if (!is_large(input, weight_ih.size(0))) return false;
  if (input.scalar_type() != at::kFloat) return input.size(1) % 8 != 0;
  return rounds_to_tf32() && is_aligned(input) && input.size(0) % 8 == 0 && input.size(1) % 4 == 0;
}

Operand input_operand(const at::Tensor& input) {
  const int64_t columns = whole_columns(input.size(1));
  if (input.scalar_type() == at::kFloat) return scaled_half(input, columns, {});
  const at::Tensor padded = at::empty({input.size(0), columns}, input.options());
  pad(input, padded);
  return {padded, {}};
}

at::Tensor empty_weight_operand(const at::Tensor& weight_ih) {
  const at::ScalarType type = weight_ih.scalar_type() == at::kFloat ? at::kHalf : weight_ih.scalar_type();
  const auto options = weight_ih.options().dtype(type).requires_grad(false);
  return at::empty({weight_ih.size(0), whole_columns(weight_ih.size(1))}, options);
}

void fill_weight_operand(const at::Tensor& weight_ih, const at::Tensor& operand) {
  const bool is_read_as_it_is =
      weight_ih.scalar_type() == at::kFloat || weight_ih.scalar_type() == operand.scalar_type();
  pad(is_read_as_it_is ? weight_ih : weight_ih.to(operand.scalar_type()), operand);
}

void multiply_scaled(const at::Tensor& out, const Operand& left, const Operand& right) {
  if (left.unscale.defined() && right.unscale.defined())
    return multiply_times(left.unscale.mul(right.unscale), out, left.values, right.values);
  const at::Tensor& unscale = left.unscale.defined() ? left.unscale : right.unscale;
  if (unscale.defined()) return multiply_times(unscale, out, left.values, right.values);
  multiply_into(out, left.values, right.values);
}

void multiply_rows(PersistentTrace& trace) { trace.table_products = at::mm(trace.table, trace.weights.weight_ih.t()); }

at::Tensor sums_of_tokens(const at::Tensor& places, const PersistentGradients& gradients,
                          const std::optional<Operand>& input_side) {
  const at::Tensor gates = matrix_of(gradients.input_side);
  const at::Tensor sums = at::empty({places.size(0), gates.size(1)}, gates.options().dtype(at::kFloat));
  multiply_scaled(sums, {places, {}}, input_side ? *input_side : Operand{gates, {}});
  return gates.scalar_type() == at::kBFloat16 ? sums.to(at::kBFloat16) : sums;
}

void multiply_input_weights(const PersistentTrace& trace, const at::Tensor& sums, WeightGradients& weights) {
  multiply_into(weights.weight_ih, sums.t(), trace.table.to(sums.scalar_type()));
}

void multiply_table(const PersistentTrace& trace, const at::Tensor& sums, at::Tensor& gradient) {
  multiply_into(gradient, sums, trace.weights.weight_ih.to(sums.scalar_type()));
}

namespace {

// Sums are in float32, for any type of the result.
void sum_rows(at::Tensor& out, const at::Tensor& rows) {
  if (out.scalar_type() == rows.scalar_type())
    at::sum_out(out, rows, 0);
  else
    out.copy_(rows.sum(0));
}

}  // namespace

void GateProducts::allocate_gates(bool is_half) {
  const int64_t num_steps = trace_.num_steps(), batch_size = trace_.batch_size();
  const int64_t hidden_size = trace_.hidden_size(), width = trace_.gates.size(2);
  const bool has_two = spec_.has_two_sides();
  const at::TensorOptions options = trace_.gates.options();
  gradients_.sides = at::empty({num_steps, batch_size, has_two ? hidden_size + width : width},
                               is_half ? options.dtype(at::kHalf) : options);
  gradients_.input_side = has_two ? gradients_.sides.narrow(2, hidden_size, width) : gradients_.sides;
  gradients_.recurrent_side = has_two ? gradients_.sides.narrow(2, 0, width) : gradients_.input_side;
  if (!is_half) return;
  constexpr int64_t kSequences = kernels::kSequencesOfExponent;
  gradients_.exponents =
      at::empty({num_steps, (batch_size + kSequences - 1) / kSequences, hidden_size / kernels::kUnitsOfExponent},
                options.dtype(at::kChar));
}

bool GateProducts::reads_only_half(NeededGradients needs) const {
  if (trace_.gates.scalar_type() != at::kFloat || !gains_by_16_bits(needs)) return false;
  if (gradients_.input.defined() && !data_gains()) return false;
  return !needs.weights || (recurrent_weights_gain() && (trace_.tokens.defined() || input_weights_gain()));
}

bool GateProducts::reads_largest(NeededGradients needs) const {
  return gradients_.sides.scalar_type() == at::kFloat && gains_by_16_bits(needs);
}

bool GateProducts::gains_by_16_bits(NeededGradients needs) const {
  return data_gains() || (needs.weights && (input_weights_gain() || recurrent_weights_gain()));
}

at::ScalarType GateProducts::type_of_input_side(NeededGradients needs) const {
  const at::ScalarType type = trace_.gates.scalar_type();
  return type == at::kFloat && gains_by_16_bits(needs) ? at::kHalf : type;
}

void GateProducts::prepare_gates(NeededGradients needs) {
  if (!gains_by_16_bits(needs)) return;
  const at::Tensor sides = matrix_of(gradients_.sides);
  const Operand both = operand_of_sides();
  const auto side = [&](const at::Tensor& of) {
    return Operand{both.values.narrow(1, of.storage_offset() - sides.storage_offset(), of.size(2)), both.unscale};
  };
  input_side_ = side(gradients_.input_side);
  recurrent_side_ = side(gradients_.recurrent_side);
}

Operand GateProducts::operand_of_sides() const {
  if (gradients_.exponents.defined()) return half_with_common_exponent();
  const at::Tensor sides = matrix_of(gradients_.sides);
  return sides.scalar_type() == at::kFloat ? scaled_half(sides, gradients_.largest) : Operand{sides, {}};
}

Operand GateProducts::half_with_common_exponent() const {
  const at::Tensor& sides = gradients_.sides;
  const int64_t hidden_size = trace_.hidden_size();
  Operand operand = {matrix_of(sides), at::empty({2}, sides.options().dtype(at::kFloat))};
  started_on_device([&] {
    kernels::take_common_exponent({.half = sides.mutable_data_ptr(),
                                   .exponents = gradients_.exponents.mutable_data_ptr<int8_t>(),
                                   .largest_exponents = gradients_.largest_exponents.const_data_ptr<int32_t>(),
                                   .num_passes = static_cast<int>(gradients_.largest_exponents.size(0)),
                                   .num_steps = sides.size(0),
                                   .batch_size = sides.size(1),
                                   .hidden_size = hidden_size,
                                   .columns = sides.size(2) / hidden_size,
                                   .unscale = operand.unscale.mutable_data_ptr<float>()},
                                  c10::cuda::getCurrentCUDAStream(sides.device().index()).stream());
  });
  return operand;
}

void GateProducts::multiply_data() const {
  const at::Tensor product = matrix_of(gradients_.input);
  if (data_gains())
    multiply_scaled(product, *input_side_, {trace_.weight_ih_operand, {}});
  else
    multiply_into(product, matrix_of(gradients_.input_side), trace_.weights.weight_ih);
}

bool GateProducts::fill_gpu() const {
  return is_large(trace_.weights.weight_hh, trace_.num_steps() * trace_.batch_size());
}

void GateProducts::multiply_input_weights(WeightGradients& weights) const {
  if (!input_weights_gain())
    return multiply_into(weights.weight_ih, matrix_of(gradients_.input_side).t(), matrix_of(trace_.input));
  const Operand input = {matrix_of(trace_.input_operand), trace_.input_unscale};
  const int64_t columns = weights.weight_ih.size(1);
  if (input.values.size(1) == columns) return multiply_scaled(weights.weight_ih, input_side_->t(), input);
  const at::Tensor whole = at::empty({weights.weight_ih.size(0), input.values.size(1)}, weights.weight_ih.options());
  multiply_scaled(whole, input_side_->t(), input);
  weights.weight_ih.copy_(whole.narrow(1, 0, columns));
}

void GateProducts::multiply_recurrent_weights(WeightGradients& weights) const {
  const at::Tensor& states = recurrent_weights_gain() ? trace_.half_hidden : trace_.hidden;
  const at::Tensor read =
      matrix_of(states_before(spec_.direction, trace_.read_hidden.defined() ? trace_.read_hidden : states));
  const int64_t hidden_size = trace_.hidden_size(), num_rows = weights.weight_hh.size(0);
  if (!spec_.has_two_sides()) return multiply_recurrent_side(0, read, weights.weight_hh);
  // The gate with two sides is the first of the gradients, and the last of the weights.
  if (num_rows > hidden_size)
    multiply_recurrent_side(hidden_size, read, weights.weight_hh.narrow(0, 0, num_rows - hidden_size));
  multiply_recurrent_side(0, read, weights.weight_hh.narrow(0, num_rows - hidden_size, hidden_size));
}

// Computes the rows of the product from `first` on, as many as `out` has. read: the hidden states that products read.
void GateProducts::multiply_recurrent_side(int64_t first, const at::Tensor& read, const at::Tensor& out) const {
  const auto rows = [&](const at::Tensor& side) { return side.narrow(1, first, out.size(0)).t(); };
  if (recurrent_weights_gain())
    multiply_scaled(out, {rows(recurrent_side_->values), recurrent_side_->unscale}, {read, {}});
  else
    multiply_into(out, rows(matrix_of(gradients_.recurrent_side)), read);
}

void GateProducts::sum_biases(WeightGradients& weights) const {
  const at::Tensor sums = gradients_.bias_sums.flatten(0, 1);
  const int64_t width = trace_.gates.size(2), of_biases = spec_.has_two_sides() ? 2 * width : width;
  sum_rows(weights.bias_ih, sums.narrow(1, 0, width));
  if (weights.vectors.defined()) sum_rows(weights.vectors, sums.narrow(1, of_biases, weights.vectors.numel()));
  if (!weights.bias_hh.defined()) return;
  if (spec_.has_two_sides())
    sum_rows(weights.bias_hh, sums.narrow(1, width, width));
  else
    weights.bias_hh.copy_(weights.bias_ih);
}

// Padding columns would have gradients that nothing reads.
bool GateProducts::data_gains() const {
  return gradients_.input.defined() && trace_.weight_ih_operand.defined() &&
         trace_.weight_ih_operand.size(1) == trace_.weights.weight_ih.size(1);
}

bool GateProducts::input_weights_gain() const { return trace_.input_operand.defined(); }
bool GateProducts::recurrent_weights_gain() const { return trace_.half_hidden.defined(); }

}  // namespace rnnlab
