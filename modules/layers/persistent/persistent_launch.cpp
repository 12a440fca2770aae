// SPDX-License-Identifier: Apache-2.0
#include "layers/persistent/persistent_launch.h"

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "base/error.h"
#include "layers/device/number_types.h"
#include "layers/device/run_kernels.h"
#include "layers/persistent/host/kernel_plan.h"
#include "layers/persistent/layer_parts.h"

namespace rnnlab {
namespace {

int* make_flag() {
  void* memory = nullptr;
  C10_CUDA_CHECK(cudaHostAlloc(&memory, sizeof(int), cudaHostAllocPortable | cudaHostAllocMapped));
  int* flag = static_cast<int*>(memory);
  *flag = 0;
  return flag;
}

}  // namespace

int* timeout_flag() {
  static int* const flag = make_flag();  // never freed, because a kernel may write to it at any time
  return flag;
}

void throw_if_kernel_timed_out() {
  auto* flag = static_cast<volatile int*>(timeout_flag());
  if (*flag == 0) return;
  *flag = 0;
  throw_error(ExitCode::kDevice,
              "layer: persistent: a block of threads timed out while it waited for other blocks of its group, so the "
              "results since then "
              "are invalid; check the GPU with `nvidia-smi`, or use layer: cudnn");
}

CUstream_st* stream_of(const at::Tensor& tensor) {
  return c10::cuda::getCurrentCUDAStream(tensor.device().index()).stream();
}

kernels::RecurrentWeights weights_of(const at::Tensor& weight_hh) {
  return {weight_hh.const_data_ptr(), element_type(weight_hh.scalar_type())};
}

namespace {

using kernels::PersistentBackward;
using kernels::PersistentForward;
using kernels::PersistentSequence;

PersistentSequence sequence_of(const PersistentSpec& spec, const PersistentTrace& trace) {
  const bool goes_up = spec.direction == Direction::kForward;
  return {.num_steps = trace.num_steps(),
          .batch_size = trace.batch_size(),
          .hidden_size = trace.hidden_size(),
          .type = element_type(trace.gates.scalar_type()),
          .order = goes_up ? kernels::ReadingOrder::kForward : kernels::ReadingOrder::kReverse,
          .program = spec.program,
          .operands = spec.operands,
          .kernels = spec.kernels,
          .is_alone = spec.num_layers == 1,
          .num_layers = trace.is_in_pair ? 2 : 1};
}

bool multiplies_input(const PersistentSequence& sequence, const PersistentTrace& trace) {
  return trace.input.defined() && kernels::multiplies_inputs(sequence, trace.input.size(2));
}

PersistentSequence forward_sequence_of(const PersistentSpec& spec, const PersistentTrace& trace) {
  PersistentSequence sequence = sequence_of(spec, trace);
  if (trace.tokens.defined())
    sequence.inputs = kernels::StepInputs::kRowsOfTable;
  else if (multiplies_input(sequence, trace))
    sequence.inputs = kernels::StepInputs::kNarrow;
  return sequence;
}

// Returns whether the kernel may read each four numbers of a row at once.
bool has_whole_vectors(const at::Tensor& rows) {
  const auto address = reinterpret_cast<uintptr_t>(rows.const_data_ptr());
  return rows.size(-1) % 4 == 0 && address % (4 * static_cast<size_t>(rows.element_size())) == 0;
}

kernels::NarrowPass narrow_pass(const PersistentSequence& sequence, const PersistentTrace& trace) {
  if (sequence.inputs != kernels::StepInputs::kNarrow) return {};
  const at::Tensor& weights = trace.weight_ih_of_kernel;
  return {.inputs = trace.input.const_data_ptr(),
          .size = static_cast<int>(trace.input.size(2)),
          .has_whole_vectors = has_whole_vectors(trace.input) && has_whole_vectors(weights),
          .type_of_weights = element_type(weights.scalar_type()),
          .weights = weights.const_data_ptr()};
}

at::Tensor empty_bytes(const PersistentTrace& trace, size_t bytes) {
  return at::empty({static_cast<int64_t>(bytes)}, trace.gates.options().dtype(at::kByte));
}

// Returns more than 1 if groups take turns.
double part_of_gpu(const kernels::PersistentGroups& groups) {
  return static_cast<double>(groups.count) / groups.at_once;
}

template <class T>
T* result_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.data_ptr()) : nullptr;
}

template <class Work>
void launch_on_stream(const Work& work, CUstream_st* stream) {
  started_on_device([&] { kernels::run(work, stream); });
}

}  // namespace

at::Tensor empty_forward_weights(const PersistentSpec& spec, const PersistentTrace& trace) {
  return empty_bytes(
      trace, started_on_device([&] { return kernels::forward_weight_bytes(forward_sequence_of(spec, trace)); }));
}
at::Tensor empty_backward_weights(const PersistentSpec& spec, const PersistentTrace& trace) {
  return empty_bytes(trace,
                     started_on_device([&] { return kernels::backward_weight_bytes(sequence_of(spec, trace)); }));
}

void pack_for_forward(const PersistentSpec& spec, const PersistentTrace& trace, const at::Tensor& weight,
                      const at::Tensor& packed) {
  started_on_device([&] {
    kernels::pack_forward_weights(forward_sequence_of(spec, trace), weights_of(weight), packed.data_ptr(),
                                  stream_of(weight));
  });
}

void pack_for_backward(const PersistentSpec& spec, const PersistentTrace& trace, const at::Tensor& weight,
                       const at::Tensor& packed) {
  started_on_device([&] {
    kernels::pack_backward_weights(sequence_of(spec, trace), weights_of(weight), packed.data_ptr(), stream_of(weight));
  });
}

at::Tensor empty_bias_sums(const PersistentSpec& spec, const PersistentTrace& trace, size_t num_parts) {
  const int64_t sides = spec.has_two_sides() ? 2 : 1;
  return at::empty({static_cast<int64_t>(num_parts), kernels::bias_sum_rows(trace.batch_size()),
                    sides * trace.gates.size(2) + spec.code->columns.vectors * trace.hidden_size()},
                   trace.gates.options().dtype(at::kFloat));
}

bool writes_half_gradients(const PersistentSpec& spec, const PersistentTrace& trace) {
  return started_on_device([&] { return kernels::writes_half_gradients(sequence_of(spec, trace)); });
}

// A pair has no kernel with starts: its upper layer multiplies the gradients that its steps share for the lower layer
// too, which needs those of a step that starts, where the steps before it must get none.
bool runs_pairs(const PersistentSpec& spec, const std::vector<PersistentTrace>& layers) {
  if (spec.starts.defined()) return false;
  const PersistentTrace& bottom = layers[0];
  if (layers.size() == 1 || !kernels::has_pair(sequence_of(spec, bottom))) return false;
  constexpr int64_t kLargestOfFastParts = 96;
  return (layers.size() == 2 && bottom.hidden_size() > kLargestOfFastParts) ||
         parts_of_steps(bottom.num_steps(), layers.size(), forward_part_of_gpu(spec, bottom)).size() == 1;
}

bool multiplies_input(const PersistentSpec& spec, const PersistentTrace& trace) {
  return multiplies_input(sequence_of(spec, trace), trace);
}

kernels::PersistentGroups forward_groups(const PersistentSpec& spec, const PersistentTrace& trace) {
  return started_on_device([&] { return kernels::forward_groups(forward_sequence_of(spec, trace)); });
}

double forward_part_of_gpu(const PersistentSpec& spec, const PersistentTrace& trace) {
  return kernels::persistent::has_blocks(spec.kernels) ? part_of_gpu(forward_groups(spec, trace)) : 1;
}
double backward_part_of_gpu(const PersistentSpec& spec, const PersistentTrace& trace) {
  if (!kernels::persistent::has_blocks(spec.kernels)) return 1;
  return part_of_gpu(started_on_device([&] { return kernels::backward_groups(sequence_of(spec, trace)); }));
}

namespace {

PersistentForward forward_work(const PersistentSequence& sequence, PersistentTrace& trace, const at::Tensor& packed,
                               const at::Tensor& exchange) {
  const bool is_half = trace.read_hidden.defined() && trace.half_hidden.defined();
  return {.sequence = sequence,
          .weights = packed.const_data_ptr(),
          .bias_ih = trace.weights.bias_ih.const_data_ptr(),
          .bias_hh = data_or_null<void>(trace.weights.bias_hh),
          .vectors = data_or_null<void>(trace.weights.vectors),
          .gates = trace.gates.data_ptr(),
          .candidates = result_or_null<void>(trace.more_kept),
          .hidden = trace.hidden.data_ptr(),
          .half_hidden = result_or_null<void>(trace.half_hidden),
          .cell = result_or_null<float>(trace.cell),
          .exchange = result_or_null<void>(exchange),
          .timed_out = timeout_flag(),
          .table = data_or_null<void>(trace.table_products),
          .num_rows = trace.tokens.defined() ? trace.table.size(0) : 0,
          .tokens = data_or_null<int64_t>(trace.tokens),
          .narrow = narrow_pass(sequence, trace),
          .begins_with_zeros = lacks_all_states(trace),
          .starts = data_or_null<bool>(trace.starts),
          .read_hidden = is_half ? nullptr : result_or_null<void>(trace.read_hidden),
          .half_read_hidden = is_half ? trace.read_hidden.data_ptr() : nullptr};
}

PersistentBackward backward_work(const PersistentSequence& sequence, const PersistentTrace& trace,
                                 PersistentGradients& gradients, const FinalGradients& final,
                                 const at::Tensor& exchange) {
  return {.sequence = sequence,
          .weights = trace.packed.const_data_ptr(),
          .vectors = data_or_null<void>(trace.weights.vectors),
          .gates = trace.gates.const_data_ptr(),
          .candidates = data_or_null<void>(trace.more_kept),
          .hidden = trace.hidden.const_data_ptr(),
          .cell = data_or_null<float>(trace.cell),
          .output_gradient = data_or_null<void>(gradients.output),
          .cell_gradient = data_or_null<float>(gradients.cell_output),
          .later_hidden = data_or_null<void>(final.hidden),
          .later_cell = data_or_null<float>(final.cell),
          .gate_gradients = gradients.sides.data_ptr(),
          .initial_hidden = gradients.from_next_step.data_ptr(),
          .initial_cell = result_or_null<float>(gradients.carry),
          .bias_sums = result_or_null<float>(gradients.bias_sums),
          .largest = result_or_null<int32_t>(gradients.largest),
          .exponents = result_or_null<int8_t>(gradients.exponents),
          .largest_exponent = result_or_null<int32_t>(gradients.largest_exponents),
          .later_exponent = data_or_null<int32_t>(gradients.later_exponent),
          .exchange = result_or_null<void>(exchange),
          .timed_out = timeout_flag(),
          .starts = data_or_null<bool>(trace.starts)};
}

kernels::DropoutPass dropout_pass(const PersistentSpec& spec, const at::Tensor& mask) {
  if (!mask.defined()) return {};
  return {.kept = mask.const_data_ptr<bool>(), .scale = static_cast<float>(1 / (1 - spec.dropout))};
}

}  // namespace

void launch_forward(const PersistentSpec& spec, PersistentTrace& trace, const at::Tensor& packed) {
  const PersistentSequence sequence = forward_sequence_of(spec, trace);
  // This memory is freed before the kernel ends, but on the current stream, so its next user comes later in the stream.
  const at::Tensor exchange = empty_bytes(trace, kernels::forward_exchange_bytes(sequence));
  launch_on_stream(forward_work(sequence, trace, packed, exchange), stream_of(trace.gates));
}

void launch_forward(const PersistentSpec& spec, PersistentTrace& lower, const at::Tensor& packed_lower,
                    PersistentTrace& upper, const at::Tensor& packed_upper, const PairOfLayers& pair) {
  launch_on_stream(
      kernels::PersistentPairForward{.lower = forward_work(forward_sequence_of(spec, lower), lower, packed_lower, {}),
                                     .upper = forward_work(sequence_of(spec, upper), upper, packed_upper, {}),
                                     .input_weights = pair.packed_input.const_data_ptr(),
                                     .dropout = dropout_pass(spec, pair.mask),
                                     .dropped = pair.mask.defined() ? upper.input.data_ptr() : nullptr},
      stream_of(lower.gates));
}

void launch_backward(const PersistentSpec& spec, const PersistentTrace& trace, PersistentGradients& gradients,
                     const FinalGradients& final) {
  PersistentSequence sequence = sequence_of(spec, trace);
  sequence.writes_half = gradients.exponents.defined();
  const at::Tensor exchange = empty_bytes(trace, kernels::backward_exchange_bytes(sequence));
  launch_on_stream(backward_work(sequence, trace, gradients, final, exchange), stream_of(trace.gates));
}

void launch_backward(const PersistentSpec& spec, const LayerOfPair& lower, const LayerOfPair& upper,
                     const at::Tensor& mask) {
  PersistentSequence sequence = sequence_of(spec, lower.trace);
  sequence.num_layers = 2;
  const auto work_of = [&](const LayerOfPair& layer) {
    return backward_work(sequence, layer.trace, layer.gradients, layer.final, {});
  };
  launch_on_stream(kernels::PersistentPairBackward{.lower = work_of(lower),
                                                   .upper = work_of(upper),
                                                   .input_weights = upper.trace.packed_input.const_data_ptr(),
                                                   .dropout = dropout_pass(spec, mask)},
                   stream_of(lower.trace.gates));
}

}  // namespace rnnlab
