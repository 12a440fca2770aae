// Computes the gradients of a layer's weights from the gradients of its gates: one product over all steps and sequences
// for each weight.
#pragma once

#include "recurrent/unrolled/step_runner.h"

namespace rnnlab {

struct WeightGradients {
  at::Tensor weight_ih, weight_hh, bias_ih, bias_hh;  // the biases may be one tensor
};

// Allocates the gradients on the current stream.
WeightGradients empty_weight_gradients(const UnrolledSpec& spec, const LayerTrace& trace);

// Computes out = left * right, in the type of `out`, which may be wider than the type of the factors.
void multiply_into(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right);

// Each function computes one product or the sums of the biases.
void multiply_input_weights(const LayerTrace& trace, const LayerGradients& gradients, WeightGradients& weights);
void sum_bias_gradients(const UnrolledSpec& spec, const LayerGradients& gradients, WeightGradients& weights);

// Computes all gradients.
void multiply_weight_gradients(const UnrolledSpec& spec, const LayerTrace& trace, const LayerGradients& gradients,
                               WeightGradients& weights);

}  // namespace rnnlab
