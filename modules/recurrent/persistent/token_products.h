// The products of a bottom layer whose inputs are rows of a table by tokens. There are as many different inputs as the
// table has rows, so W x is computed for those and read by token; backwards the gates' gradients are first summed up
// over the places of each token, by a product with ones and zeros, before they meet the table and the weights.
#pragma once

#include <optional>

#include "recurrent/persistent/factor.h"
#include "recurrent/unrolled/weight_gradients.h"

namespace rnnlab {

// Fills the trace's gates with W x.
void multiply_rows(LayerTrace& trace);

// (V, G * H) float32: the sums of the gradients of W x + b, by float16 where their factor is there.
at::Tensor sums_of_tokens(const LayerTrace& trace, const LayerGradients& gradients,
                          const std::optional<Factor>& input_side);

// From those sums, both float32: the gradient of weight_ih, and (V, I) that of the table.
void multiply_input_weights(const LayerTrace& trace, const at::Tensor& sums, WeightGradients& weights);
void multiply_table(const LayerTrace& trace, const at::Tensor& sums, at::Tensor& gradient);

}  // namespace rnnlab
