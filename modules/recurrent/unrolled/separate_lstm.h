// The point-wise part of an LSTM step by LibTorch's own operations, one for every line of the formulas: what the first
// two rungs of the ladder run, and what one kernel saves.
#pragma once

#include "recurrent/unrolled/step_runner.h"

namespace rnnlab {

void run_separate_lstm_forward(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t);
void run_separate_lstm_backward(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients,
                                NextStep next, int64_t t);

}  // namespace rnnlab
