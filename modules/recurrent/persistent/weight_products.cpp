#include "recurrent/persistent/weight_products.h"

namespace rnnlab {

void WeightProducts::prepare() {
  const at::Tensor input_side = matrix_of(gradients_.input_side);
  const at::Tensor recurrent_side = matrix_of(gradients_.recurrent_side);
  const bool inputs_gain = gains_by_half(input_side.t(), matrix_of(trace_.input));
  const bool recurrent_gains = gains_by_half(recurrent_side.t(), states_read());
  const bool is_one = gradients_.recurrent_side.is_same(gradients_.input_side);
  if (inputs_gain) input_side_ = scaled_half(input_side);
  if (recurrent_gains) recurrent_side_ = inputs_gain && is_one ? *input_side_ : scaled_half(recurrent_side);
}

void WeightProducts::multiply_inputs() const {
  if (!input_side_) return multiply_input_weights(trace_, gradients_, weights_);
  multiply_scaled(weights_.weight_ih, input_side_->t(), scaled_half(matrix_of(trace_.input)));
}

void WeightProducts::multiply_recurrent() const {
  if (!recurrent_side_) return multiply_recurrent_weights(spec_, trace_, gradients_, weights_);
  multiply_scaled(weights_.weight_hh, recurrent_side_->t(), scaled_half(states_read()));
}

void WeightProducts::run() {
  prepare();
  multiply_inputs();
  multiply_recurrent();
  sum_biases();
}

at::Tensor WeightProducts::states_read() const { return matrix_of(states_before(spec_.direction, trace_.hidden)); }

}  // namespace rnnlab
