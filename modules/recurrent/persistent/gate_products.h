// The products of a layer's gates' gradients after a persistent kernel, by factors of 16 bits where that gains
// (factor.h): for the gradient of the layer's input, and for those of its weights, as multiply_weight_gradients has
// them, in parts that run side by side.
#pragma once

#include <optional>

#include "recurrent/persistent/factor.h"
#include "recurrent/unrolled/backward_pass.h"

namespace rnnlab {

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
