#include "recurrent/unrolled/step_runner.h"

#include <ATen/Parallel.h>
#include <c10/cuda/CUDAStream.h>

#include "base/error.h"
#include "recurrent/kernels/pointwise.h"
#include "recurrent/unrolled/separate_lstm.h"

namespace rnnlab {
namespace {

kernels::ElementType element_type(at::ScalarType type) {
  if (type == at::kFloat) return kernels::ElementType::kFloat32;
  if (type == at::kDouble) return kernels::ElementType::kFloat64;
  if (type == at::kHalf) return kernels::ElementType::kFloat16;
  RNNLAB_INVARIANT(type == at::kBFloat16, fmt::format("no kernel for {}", c10::toString(type)));
  return kernels::ElementType::kBfloat16;
}

kernels::Nonlinearity nonlinearity_of(const UnrolledSpec& spec) {
  const bool is_relu = spec.cell == Cell::kRnnRelu || spec.activation == Activation::kRelu;
  return is_relu ? kernels::Nonlinearity::kRelu : kernels::Nonlinearity::kTanh;
}

kernels::Step step_of(const UnrolledSpec& spec, const LayerTrace& trace) {
  return {element_type(trace.gates.scalar_type()), nonlinearity_of(spec), trace.batch_size(), trace.hidden_size()};
}

// Row t of a dense tensor (rows, B, columns), or null.
void* row(const at::Tensor& tensor, int64_t t) {
  if (!tensor.defined()) return nullptr;
  const auto bytes = tensor.size(1) * tensor.size(2) * static_cast<int64_t>(tensor.element_size());
  return static_cast<std::byte*>(tensor.data_ptr()) + t * bytes;
}

kernels::Products products_of(const LayerTrace& trace, const at::Tensor& recurrent, int64_t t) {
  return {row(trace.gates, t), recurrent.const_data_ptr(), trace.weights.bias_ih.const_data_ptr(),
          trace.weights.bias_hh.const_data_ptr()};
}

kernels::HiddenGradient hidden_gradient_of(const LayerGradients& gradients, NextStep next, int64_t t) {
  return {row(gradients.output, t), next == NextStep::kThere ? gradients.from_next_step.const_data_ptr() : nullptr};
}

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
  const at::Device device = trace.gates.device();
  const auto step = step_of(spec, trace);
  const auto products = products_of(trace, recurrent, t);
  const auto [before, after] = state_rows(spec.direction, t);
  if (spec.cell == Cell::kLstm)
    return launch(
        kernels::LstmForward{step, products, row(trace.cell, before), row(trace.cell, after), row(trace.hidden, after)},
        device);
  if (spec.cell == Cell::kGru)
    return launch(kernels::GruForward{step, products, row(trace.hidden, before), row(trace.candidates, t),
                                      row(trace.hidden, after)},
                  device);
  launch(kernels::RnnForward{step, products, row(trace.hidden, after)}, device);
}

void run_backward_step(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients, NextStep next,
                       int64_t t) {
  if (!spec.rung.fused_pointwise) return run_separate_lstm_backward(spec, trace, gradients, next, t);
  const at::Device device = trace.gates.device();
  const auto step = step_of(spec, trace);
  const auto hidden_gradient = hidden_gradient_of(gradients, next, t);
  const auto [before, after] = state_rows(spec.direction, t);
  if (spec.cell == Cell::kLstm)
    return launch(kernels::LstmBackward{step, hidden_gradient, row(gradients.cell_output, t), row(trace.gates, t),
                                        row(trace.cell, before), row(trace.cell, after), gradients.carry.data_ptr(),
                                        row(gradients.input_side, t)},
                  device);
  if (spec.cell == Cell::kGru)
    return launch(kernels::GruBackward{step, hidden_gradient, row(trace.gates, t), row(trace.candidates, t),
                                       row(trace.hidden, before), gradients.carry.data_ptr(),
                                       row(gradients.input_side, t), row(gradients.recurrent_side, t)},
                  device);
  launch(kernels::RnnBackward{step, hidden_gradient, row(trace.hidden, after), row(gradients.input_side, t)}, device);
}

}  // namespace rnnlab
