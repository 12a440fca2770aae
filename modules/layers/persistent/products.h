// SPDX-License-Identifier: Apache-2.0
// Computes products of whole sequences before and after the persistent kernels: of inputs and weights, of tokens, and
// of gates and their gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "layers/persistent/persistent_trace.h"

namespace rnnlab {

// Large products of float32 layers in the TF32 class use operands of float16, which has TF32's mantissa and which
// tensor cores multiply twice as fast. Because of float16's smaller range, numbers of any magnitude are scaled by a
// power of two (kernels/persistent/operand_conversion.h). Hidden states and weights are also float16 in the kernels and
// are not scaled. The input of the bottom layer may have any number of columns. For large products its columns are
// filled up with zeros to whole vectors, in both classes, because cuBLAS takes four times as long in 16 bits otherwise.
struct Operand {
  at::Tensor values;   // a matrix, float16, or of a 16-bit layer's type
  at::Tensor unscale;  // (2) float32: the factor that converts a value to the number, and 0; undefined: 1
  Operand t() const { return {values.t(), unscale}; }
};

// A product that is large enough for them: about 15 us in TF32 on an H200.
inline constexpr double kLeastMultiplications = 2e9;

// Returns whether this product is faster with operands of float16, and LibTorch allows TF32 for it.
bool gains_by_half(const at::Tensor& left, const at::Tensor& right);

// Returns the scaled matrix, which must be dense and have a multiple of 4 elements. largest: the bits of its largest
// magnitude, (1) int32; if undefined, the matrix is read twice.
Operand scaled_half(const at::Tensor& matrix, const at::Tensor& largest = {});

// Returns whether input * weight_ih^T and the product for the gradient of weight_ih are faster with converted operands:
// with float16 or with whole columns.
bool gains_by_input_operand(const at::Tensor& input, const at::Tensor& weight_ih);

// Return (rows, whole columns) of the input and of weight_ih, for inputs that gain by it: float16 if the input is
// float32, otherwise of the input's type.
Operand input_operand(const at::Tensor& input);
at::Tensor empty_weight_operand(const at::Tensor& weight_ih);
void fill_weight_operand(const at::Tensor& weight_ih, const at::Tensor& operand);

// Computes out = left * right, all with dense rows or columns; `out` is float32, or has the type of operands that are
// not scaled.
void multiply_scaled(const at::Tensor& out, const Operand& left, const Operand& right);

// The following functions compute the products of a bottom layer whose inputs are rows of a table by tokens. There are
// as many different inputs as the table has rows, so W x is computed for each row, and the kernel reads it by token. In
// the backward pass the gates' gradients are first summed over the positions of each token, by a product with ones and
// zeros, and then multiplied with the table and the weights.

// Sets the trace's table_products.
void multiply_rows(PersistentTrace& trace);

// Returns (V, G * H), the sums of the gradients of W x + b. places: one_hot_of_tokens in the type of the gradients, or
// of `input_side` if it is given. The sums are computed in float32 and rounded to bfloat16 if the gradients are
// bfloat16; float16 gradients keep float32 sums, because these may leave the range of float16.
at::Tensor sums_of_tokens(const at::Tensor& places, const PersistentGradients& gradients,
                          const std::optional<Operand>& input_side);

// Compute from these sums the gradient of weight_ih, and the gradient of the table, (V, I); both are float32.
void multiply_input_weights(const PersistentTrace& trace, const at::Tensor& sums, WeightGradients& weights);
void multiply_table(const PersistentTrace& trace, const at::Tensor& sums, at::Tensor& gradient);

// Computes the products of a layer's gates' gradients after a persistent kernel, with 16-bit operands if these are
// faster: for the gradient of the layer's input, and for the gradients of its weights (as multiply_weight_gradients, in
// parts that can run at the same time). The arguments of the constructor must outlive the object. Each function works
// and allocates on the current stream.
class GateProducts {
 public:
  GateProducts(const PersistentSpec& spec, const PersistentTrace& trace, PersistentGradients& gradients)
      : spec_(spec), trace_(trace), gradients_(gradients) {}

  // Returns whether all needed products of a float32 layer gain by float16, so that the kernel may write it.
  bool reads_only_half(NeededGradients needs) const;

  // Allocates the gates' gradients: as float16 with exponents, or in the type of the gates.
  void allocate_gates(bool is_half);

  // Returns whether the kernel must compute the largest gradient, for a product by float16. Call allocate_gates first.
  bool reads_largest(NeededGradients needs) const;

  // Prepares operands that several products read, after the kernel and before the products. The operands for the
  // weights' gradients are prepared if `needs.weights`.
  void prepare_gates(NeededGradients needs);

  // Returns the type of input_side_operand(), or without it of the gates' gradients.
  at::ScalarType type_of_input_side(NeededGradients needs) const;

  // Computes the gradient of the layer's input, if the tensor is defined.
  void multiply_data() const;

  // Returns whether the product for the gradient of the recurrent weights is large enough to fill the GPU.
  bool fill_gpu() const;

  void multiply_input_weights(WeightGradients& weights) const;
  void multiply_recurrent_weights(WeightGradients& weights) const;
  // Sums the biases' gradients from the sums of the kernel.
  void sum_biases(WeightGradients& weights) const;

  // Returns the operand of the gradients of W x + b, if prepare_gates has made it.
  const std::optional<Operand>& input_side_operand() const { return input_side_; }

 private:
  void multiply_recurrent_side(int64_t first, const at::Tensor& read, const at::Tensor& out) const;
  bool gains_by_16_bits(NeededGradients needs) const;
  Operand operand_of_sides() const;
  Operand half_with_common_exponent() const;
  bool data_gains() const;
  bool input_weights_gain() const;
  bool recurrent_weights_gain() const;

  const PersistentSpec& spec_;
  const PersistentTrace& trace_;
  PersistentGradients& gradients_;
  std::optional<Operand> input_side_, recurrent_side_;  // set if a product with a 16-bit operand reads them
};

}  // namespace rnnlab
