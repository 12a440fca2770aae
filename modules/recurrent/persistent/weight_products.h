// The products for a layer's weights' gradients after a persistent kernel, by float16 where that gains (factor.h):
// what multiply_weight_gradients does, in parts that run side by side.
#pragma once

#include <optional>

#include "recurrent/persistent/factor.h"
#include "recurrent/unrolled/weight_gradients.h"

namespace rnnlab {

// Everything it is made of must outlive it. Each function works on the current stream.
class WeightProducts {
 public:
  WeightProducts(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                 WeightGradients& weights)
      : spec_(spec), trace_(trace), gradients_(gradients), weights_(weights) {}

  // Before the products: what both of them read.
  void prepare();

  void multiply_inputs() const;
  void multiply_recurrent() const;
  void sum_biases() const { sum_bias_gradients(spec_, gradients_, weights_); }

  // All of it, one after the other.
  void run();

 private:
  at::Tensor states_read() const;

  const UnrolledSpec& spec_;
  const LayerTrace& trace_;
  const LayerGradients& gradients_;
  WeightGradients& weights_;
  std::optional<Factor> input_side_, recurrent_side_;  // where float16 gains
};

}  // namespace rnnlab
