// Products of whole sequences around the persistent kernels: of inputs and weights, of tokens, and of gates and their
// gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "recurrent/unrolled/backward_pass.h"
#include "recurrent/unrolled/weight_gradients.h"

namespace rnnlab {

// Large products of float32 layers in the TF32 class, with factors of float16: it has TF32's mantissa, and tensor cores
// multiply it twice as fast. Numbers of any magnitude are scaled by a power of two that makes up for its smaller range
// (kernels/persistent/scaled_half.h); hidden states and weights are float16 in the kernels, too, and need none. And
// large products by what the bottom layer reads, whose columns may have any number: filled up with zeros to whole
// vectors in both classes, since cuBLAS takes four times as long for others in 16 bits.

struct Factor {
  at::Tensor values;   // a matrix, float16, or of a 16-bit layer's type
  at::Tensor unscale;  // (2) float32: what a value is multiplied by to give the number, and 0; undefined: 1
  Factor t() const { return {values.t(), unscale}; }
};

// Whether the product of these two is the faster for it, and LibTorch allows TF32 there.
bool gains_by_half(const at::Tensor& left, const at::Tensor& right);

// The matrix must be dense, its size a multiple of 4. largest: the bits of its largest magnitude, (1) int32, or
// undefined: then the matrix is read twice.
Factor scaled_half(const at::Tensor& matrix, const at::Tensor& largest = {});

// Whether input * weight_ih^T and the product for the gradient of weight_ih are the faster for factors of their own: by
// float16 or by whole columns.
bool gains_by_input_factor(const at::Tensor& input, const at::Tensor& weight_ih);

// (rows, whole columns) of the input, where it gains, and of weight_ih: float16 where the input is float32, else of the
// input's type.
Factor input_factor(const at::Tensor& input);
at::Tensor empty_weight_factor(const at::Tensor& weight_ih);
void fill_weight_factor(const at::Tensor& weight_ih, const at::Tensor& factor);

// out = left * right, all with rows or columns that lie dense; `out` in float32 or in the type of factors that are not
// scaled.
void multiply_scaled(const at::Tensor& out, const Factor& left, const Factor& right);

// The products of a bottom layer whose inputs are rows of a table by tokens. There are as many different inputs as the
// table has rows, so W x is computed for those and read by token; backwards the gates' gradients are first summed up
// over the places of each token, by a product with ones and zeros, before they meet the table and the weights.

// Fills the trace's gates with W x.
void multiply_rows(LayerTrace& trace);

// (V, G * H) float32: the sums of the gradients of W x + b, by float16 where their factor is there.
at::Tensor sums_of_tokens(const LayerTrace& trace, const LayerGradients& gradients,
                          const std::optional<Factor>& input_side);

// From those sums, both float32: the gradient of weight_ih, and (V, I) that of the table.
void multiply_input_weights(const LayerTrace& trace, const at::Tensor& sums, WeightGradients& weights);
void multiply_table(const LayerTrace& trace, const at::Tensor& sums, at::Tensor& gradient);

// The products of a layer's gates' gradients after a persistent kernel, by factors of 16 bits where that gains: for the
// gradient of the layer's input, and for those of its weights, as multiply_weight_gradients has them, in parts that run
// side by side.

// Everything it is made of must outlive it. Each function works on the current stream, and allocates there what it
// keeps.
class GateProducts {
 public:
  GateProducts(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients)
      : spec_(spec), trace_(trace), gradients_(gradients) {}

  // Whether the kernel shall find out the largest gradient, for a product by float16.
  bool reads_largest(Needs needs) const;

  // After the kernel, before the products: what several of them read. The factors that the weights' gradients need are
  // made where there are `weights`.
  void prepare_gates(Needs needs);

  // The gradient of the layer's input, if it is there to be filled.
  void multiply_data() const;

  void multiply_input_weights(WeightGradients& weights) const;
  void multiply_recurrent_weights(WeightGradients& weights) const;
  // From what the kernel has summed up.
  void sum_biases(WeightGradients& weights) const;

  // The factor of the gradients of W x + b, where prepare_gates has made it.
  const std::optional<Factor>& input_side_factor() const { return input_side_; }

 private:
  void multiply_recurrent_side(const at::Tensor& out) const;
  bool gains_by_factors(Needs needs) const;
  bool data_gains() const;
  bool input_weights_gain() const;
  bool recurrent_weights_gain() const;

  const UnrolledSpec& spec_;
  const LayerTrace& trace_;
  LayerGradients& gradients_;
  std::optional<Factor> input_side_, recurrent_side_;  // where a product with a factor of 16 bits reads them
};

}  // namespace rnnlab
