#include "recurrent/persistent/persistent_pass.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <c10/cuda/CUDAGuard.h>

#include "recurrent/kernels/persistent/persistent_lstm.h"
#include "recurrent/number_type.h"
#include "recurrent/persistent/gave_up.h"
#include "recurrent/unrolled/step_launch.h"
#include "recurrent/unrolled/step_work.h"

namespace rnnlab {
namespace {

using kernels::PersistentBackward;
using kernels::PersistentForward;
using kernels::PersistentSequence;

CUstream_st* stream_of(const at::Tensor& tensor) {
  return c10::cuda::getCurrentCUDAStream(tensor.device().index()).stream();
}

PersistentSequence sequence_of(const UnrolledSpec& spec, const LayerTrace& trace) {
  return {trace.num_steps(), trace.batch_size(), trace.hidden_size(), element_type(trace.gates.scalar_type()),
          spec.direction == Direction::kForward ? kernels::ReadingOrder::kForward : kernels::ReadingOrder::kReverse};
}

using Pack = void (*)(const PersistentSequence&, const void*, void*, CUstream_st*);

at::Tensor packed_weights(const PersistentSequence& sequence, const at::Tensor& weight_hh, Pack pack) {
  const auto bytes = static_cast<int64_t>(kernels::packed_weight_bytes(sequence.hidden_size));
  const at::Tensor packed = at::empty({bytes}, weight_hh.options().dtype(at::kByte));
  pack(sequence, weight_hh.const_data_ptr(), packed.data_ptr(), stream_of(weight_hh));
  return packed;
}

LayerGradients make_gradients(const LayerTrace& trace, const ResultGradients& results) {
  LayerGradients gradients;
  gradients.output = results.hidden[0];
  if (!results.cell.empty()) gradients.cell_output = results.cell[0];
  gradients.input_side = at::empty_like(trace.gates);
  gradients.recurrent_side = gradients.input_side;
  gradients.from_next_step = at::empty_like(trace.hidden[0]);
  gradients.carry = at::empty_like(trace.cell[0]);
  return gradients;
}

template <class T>
const T* data_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<const T*>(tensor.const_data_ptr()) : nullptr;
}

void run_loop(const UnrolledSpec& spec, const LayerTrace& trace, LayerGradients& gradients) {
  const PersistentSequence sequence = sequence_of(spec, trace);
  const at::Tensor packed = packed_weights(sequence, trace.weights.weight_hh, kernels::pack_backward_weights);
  launch_on_stream(PersistentBackward{.sequence = sequence,
                                      .weights = packed.const_data_ptr(),
                                      .gates = trace.gates.const_data_ptr(),
                                      .cell = trace.cell.const_data_ptr<float>(),
                                      .output_gradient = data_or_null<void>(gradients.output),
                                      .cell_gradient = data_or_null<float>(gradients.cell_output),
                                      .gate_gradient = gradients.input_side.data_ptr(),
                                      .initial_hidden = gradients.from_next_step.data_ptr(),
                                      .initial_cell = gradients.carry.mutable_data_ptr<float>(),
                                      .timed_out = gave_up_flag()},
                   stream_of(trace.gates));
}

}  // namespace

void require_persistent(const at::Tensor& sequence) {
  if (const auto reason = refusal(LayerKind::kPersistent, sequence.is_cuda() ? Processor::kGpu : Processor::kCpu))
    throw_error(ExitCode::kUsage, "{}", *reason);
  const auto* gpu = at::cuda::getDeviceProperties(sequence.device().index());
  if (gpu->major != 9)
    throw_error(ExitCode::kUsage,
                "layer: persistent needs a Hopper GPU (compute capability 9.0); this is {} ({}.{}): use layer: cudnn",
                gpu->name, gpu->major, gpu->minor);
  const at::ScalarType type = sequence.scalar_type();
  if (type == at::kDouble)
    throw_error(ExitCode::kUsage,
                "layer: persistent has no float64, which tensor cores cannot keep up with; use layer: cudnn");
  if (type == at::kFloat && !at::globalContext().allowTF32CuBLAS())
    throw_error(ExitCode::kUsage, "{}", *refusal_in_float32(LayerKind::kPersistent));
  require_that_none_gave_up();
}

ExecutionPath persistent_path(at::ScalarType type) {
  const bool is_float32 = type == at::kFloat;
  return {fmt::format("persistent kernel on clusters ({})",
                      is_float32 ? "tf32 class: float16 operands, float32 sums" : number_type_name(type)),
          {}};
}

void run_persistent_forward(const UnrolledSpec& spec, LayerTrace& trace) {
  const c10::cuda::CUDAGuard device(trace.gates.device());
  const PersistentSequence sequence = sequence_of(spec, trace);
  at::Tensor products = matrix_of(trace.gates);
  at::mm_out(products, matrix_of(trace.input), trace.weights.weight_ih.t());
  const at::Tensor packed = packed_weights(sequence, trace.weights.weight_hh, kernels::pack_forward_weights);
  launch_on_stream(PersistentForward{.sequence = sequence,
                                     .weights = packed.const_data_ptr(),
                                     .bias_ih = trace.weights.bias_ih.const_data_ptr(),
                                     .bias_hh = trace.weights.bias_hh.const_data_ptr(),
                                     .gates = trace.gates.data_ptr(),
                                     .hidden = trace.hidden.data_ptr(),
                                     .cell = trace.cell.mutable_data_ptr<float>(),
                                     .timed_out = gave_up_flag()},
                   stream_of(trace.gates));
}

PassGradients run_persistent_backward(const UnrolledSpec& spec, const LayerTrace& trace, const ResultGradients& results,
                                      Needs needs) {
  const c10::cuda::CUDAGuard device(trace.gates.device());
  LayerGradients gradients = make_gradients(trace, results);
  run_loop(spec, trace, gradients);
  PassGradients result = {{}, {{gradients.from_next_step, gradients.carry}}, {}};
  if (needs.input) {
    result.input = at::empty_like(trace.input);
    at::Tensor product = matrix_of(result.input);
    at::mm_out(product, matrix_of(gradients.input_side), trace.weights.weight_ih);
  }
  if (!needs.weights) return result;
  result.weights.push_back(empty_weight_gradients(spec, trace));
  multiply_weight_gradients(spec, trace, gradients, result.weights[0]);
  return result;
}

}  // namespace rnnlab
