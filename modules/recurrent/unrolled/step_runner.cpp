#include "recurrent/unrolled/step_runner.h"

#include <ATen/Parallel.h>
#include <c10/cuda/CUDAStream.h>

#include "recurrent/unrolled/separate_lstm.h"
#include "recurrent/unrolled/step_work.h"

namespace rnnlab {
namespace {

// A thread of the CPU is worth starting for this many units.
constexpr int64_t kUnitsPerThread = 2048;

template <class Work>
void launch(const Work& work, const at::Device& device) {
  if (device.is_cuda()) return kernels::run(work, c10::cuda::getCurrentCUDAStream(device.index()).stream());
  const int64_t grain = std::max<int64_t>(1, kUnitsPerThread / work.step.hidden_size);
  at::parallel_for(0, work.step.batch_size, grain, [&](int64_t first, int64_t last) {
    kernels::run(work, kernels::Rows{first, last});
  });
}

}  // namespace

void run_forward_step(const UnrolledSpec& spec, LayerTrace& trace, const at::Tensor& recurrent, int64_t t) {
  if (!spec.rung.fused_pointwise) return run_separate_lstm_forward(spec, trace, recurrent, t);
  with_forward_work(spec, trace, recurrent.const_data_ptr(), t,
                    [&](const auto& work) { launch(work, trace.gates.device()); });
}

void run_backward_step(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients, NextStep next,
                       int64_t t) {
  if (!spec.rung.fused_pointwise) return run_separate_lstm_backward(spec, trace, gradients, next, t);
  const void* from_next_step = next == NextStep::kThere ? gradients.from_next_step.const_data_ptr() : nullptr;
  with_backward_work(spec, trace, gradients, from_next_step, t, t,
                     [&](const auto& work) { launch(work, trace.gates.device()); });
}

}  // namespace rnnlab
