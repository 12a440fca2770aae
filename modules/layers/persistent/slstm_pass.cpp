// SPDX-License-Identifier: Apache-2.0
#include "layers/persistent/slstm_pass.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <c10/cuda/CUDAGuard.h>

#include "layers/device/number_types.h"
#include "layers/device/run_kernels.h"
#include "layers/persistent/persistent_launch.h"
#include "layers/persistent/persistent_layer.h"
#include "layers/persistent/persistent_pass.h"
#include "layers/unrolled/trace.h"

namespace rnnlab {
namespace {

kernels::PersistentSequence sequence_of(const SlstmTrace& trace) {
  const bool is_float32 = trace.gates.scalar_type() == at::kFloat && !rounds_to_tf32();
  const bool goes_up = trace.direction == Direction::kForward;
  return {.num_steps = trace.gates.size(0),
          .batch_size = trace.gates.size(1),
          .hidden_size = trace.weight_hh.size(2),
          .num_heads = trace.num_heads,
          .type = element_type(trace.gates.scalar_type()),
          .order = goes_up ? kernels::ReadingOrder::kForward : kernels::ReadingOrder::kReverse,
          .program = &kernels::kSlstmProgram,
          .operands = is_float32 ? kernels::Operands::kFloat32 : kernels::Operands::kTf32,
          .kernels = kernels::PersistentKernels::kBlocks};
}

using CountBytes = size_t (*)(const kernels::PersistentSequence&);
using Pack = void (*)(const kernels::PersistentSequence&, const kernels::RecurrentWeights&, void*, CUstream_st*);

// Returns the recurrent weights in the order of a pass's kernel.
at::Tensor packed(const SlstmTrace& trace, CountBytes count_bytes, Pack pack) {
  const kernels::PersistentSequence sequence = sequence_of(trace);
  const at::Tensor& weights = trace.weight_hh;
  return started_on_device([&] {
    const auto bytes = static_cast<int64_t>(count_bytes(sequence));
    at::Tensor result = at::empty({bytes}, weights.options().dtype(at::kByte));
    pack(sequence, weights_of(weights), result.data_ptr(), stream_of(weights));
    return result;
  });
}

// States (..., T + 1, B, H) with the initial row filled in.
at::Tensor states_from(const at::Tensor& initial, int64_t row, int64_t num_steps) {
  std::vector<int64_t> shape = initial.sizes().vec();
  const auto dimension = static_cast<int64_t>(shape.size()) - 2;
  shape.insert(shape.begin() + dimension, num_steps + 1);
  at::Tensor states = at::empty(shape, initial.options());
  states.select(dimension, row).copy_(initial);
  return states;
}

// A product for each head, because the products of all heads together would mostly be of no use.
at::Tensor recurrent_weight_gradient(const SlstmTrace& trace, const at::Tensor& gates) {
  at::Tensor gradient = at::empty_like(trace.weight_hh);
  const at::Tensor by_head = gates.view({-1, trace.num_heads, gradient.size(1)});
  const at::Tensor before =
      states_before(trace.direction, trace.hidden).reshape({-1, trace.num_heads, gradient.size(2)});
  for (int64_t head = 0; head < trace.num_heads; ++head) {
    at::Tensor of_head = gradient[head];
    at::mm_out(of_head, by_head.select(1, head).t(), before.select(1, head));
  }
  return gradient;
}

}  // namespace

ExecutionPath slstm_path(const SlstmTrace& trace) {
  return {fmt::format("persistent kernel ({}), one block for each head of a group of sequences",
                      persistent_class_name(trace.gates.scalar_type())),
          {}};
}

void run_slstm_forward(SlstmTrace& trace, const at::Tensor& initial_hidden, const at::Tensor& initial_states) {
  const c10::cuda::CUDAGuard device(trace.gates.device());
  const int64_t num_steps = trace.gates.size(0);
  const int64_t first = initial_row(trace.direction, num_steps);
  trace.hidden = states_from(initial_hidden, first, num_steps);
  trace.states = states_from(initial_states, first, num_steps);
  trace.slopes = at::empty({num_steps, trace.gates.size(1), initial_hidden.size(1)}, trace.gates.options());
  const at::Tensor weights = packed(trace, kernels::forward_weight_bytes, kernels::pack_forward_weights);
  const kernels::PersistentForward work = {.sequence = sequence_of(trace),
                                           .weights = weights.const_data_ptr(),
                                           .gates = trace.gates.data_ptr(),
                                           .candidates = trace.slopes.data_ptr(),
                                           .hidden = trace.hidden.data_ptr(),
                                           .cell = trace.states.data_ptr<float>(),
                                           .timed_out = timeout_flag()};
  started_on_device([&] { kernels::run(work, stream_of(trace.gates)); });
}

SlstmGradients run_slstm_backward(const SlstmTrace& trace, const at::Tensor& output, const at::Tensor& final_states) {
  const c10::cuda::CUDAGuard device(trace.gates.device());
  const at::Tensor last = trace.states.select(1, final_row(trace.direction, trace.gates.size(0)));
  SlstmGradients gradients = {.gates = at::empty_like(trace.gates),
                              .initial_hidden = at::empty_like(trace.hidden[0]),
                              .initial_states = at::empty(last.sizes(), last.options())};
  const at::Tensor weights = packed(trace, kernels::backward_weight_bytes, kernels::pack_backward_weights);
  const kernels::PersistentBackward work = {.sequence = sequence_of(trace),
                                            .weights = weights.const_data_ptr(),
                                            .gates = trace.gates.const_data_ptr(),
                                            .candidates = trace.slopes.const_data_ptr(),
                                            .cell = trace.states.const_data_ptr<float>(),
                                            .output_gradient = data_or_null<void>(output),
                                            .later_cell = data_or_null<float>(final_states),
                                            .gate_gradients = gradients.gates.data_ptr(),
                                            .initial_hidden = gradients.initial_hidden.data_ptr(),
                                            .initial_cell = gradients.initial_states.data_ptr<float>(),
                                            .timed_out = timeout_flag()};
  started_on_device([&] { kernels::run(work, stream_of(trace.gates)); });
  gradients.weight_hh = recurrent_weight_gradient(trace, gradients.gates);
  return gradients;
}

}  // namespace rnnlab
