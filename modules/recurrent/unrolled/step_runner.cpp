#include "recurrent/unrolled/step_runner.h"

#include "recurrent/unrolled/separate_lstm.h"
#include "recurrent/unrolled/step_launch.h"
#include "recurrent/unrolled/step_work.h"

namespace rnnlab {

void run_forward_step(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t) {
  if (!spec.rung.fused_pointwise) return run_separate_lstm_forward(spec, trace, recurrent, t);
  with_forward_work(spec, trace, recurrent.const_data_ptr(), t,
                    [&](const auto& work) { launch_step(work, trace.gates.device()); });
}

void run_backward_step(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients, NextStep next,
                       int64_t t) {
  if (!spec.rung.fused_pointwise) return run_separate_lstm_backward(spec, trace, gradients, next, t);
  const void* from_next_step = next == NextStep::kThere ? gradients.from_next_step.const_data_ptr() : nullptr;
  with_backward_work(spec, trace, gradients, from_next_step, t, t,
                     [&](const auto& work) { launch_step(work, trace.gates.device()); });
}

}  // namespace rnnlab
