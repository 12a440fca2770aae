#include "recurrent/persistent/persistent_pass.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <c10/cuda/CUDAGuard.h>

#include "recurrent/kernels/persistent/persistent_layer.h"
#include "recurrent/number_type.h"
#include "recurrent/persistent/gave_up.h"
#include "recurrent/persistent/kernel_start.h"
#include "recurrent/unrolled/lanes.h"
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

kernels::PersistentCell persistent_cell(Cell cell) {
  if (cell == Cell::kLstm) return kernels::PersistentCell::kLstm;
  return cell == Cell::kGru ? kernels::PersistentCell::kGru : kernels::PersistentCell::kRnn;
}

// Of float32 layers, which PyTorch's own products of the inputs obey as well.
kernels::Factors factors_now() {
  return at::globalContext().allowTF32CuBLAS() ? kernels::Factors::kTf32 : kernels::Factors::kFloat32;
}

PersistentSequence sequence_of(const UnrolledSpec& spec, const LayerTrace& trace) {
  const kernels::Step step = step_of(spec, trace);
  const bool goes_up = spec.direction == Direction::kForward;
  return {.num_steps = trace.num_steps(),
          .batch_size = step.batch_size,
          .hidden_size = step.hidden_size,
          .type = step.type,
          .order = goes_up ? kernels::ReadingOrder::kForward : kernels::ReadingOrder::kReverse,
          .cell = persistent_cell(spec.cell),
          .nonlinearity = step.nonlinearity,
          .factors = factors_now()};
}

template <class T>
const T* data_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<const T*>(tensor.const_data_ptr()) : nullptr;
}

template <class T>
T* result_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.data_ptr()) : nullptr;
}

// Room for all layers' packed weights, on the current stream.
std::vector<at::Tensor> empty_packed(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers) {
  std::vector<at::Tensor> packed;
  for (const LayerTrace& layer : layers) {
    const auto bytes = static_cast<int64_t>(kernels::packed_weight_bytes(sequence_of(spec, layer)));
    packed.push_back(at::empty({bytes}, layer.weights.weight_hh.options().dtype(at::kByte)));
  }
  return packed;
}

// Lane 0 has the kernels and the products that they wait for; the other lanes what nothing in the pass waits for.
constexpr size_t kMainLane = 0;
constexpr size_t kSideLane = 1;
constexpr size_t kOtherSideLane = 2;

class PersistentForwardPass {
 public:
  PersistentForwardPass(const UnrolledSpec& spec, std::vector<LayerTrace>& layers, const std::vector<at::Tensor>& masks)
      : spec_(spec), layers_(layers), masks_(masks), packed_(empty_packed(spec, layers)), lanes_(device(), 2) {}

  void run() {
    lanes_.run(kSideLane, [&] {
      for (size_t layer = 0; layer < layers_.size(); ++layer) pack(layer);
    });
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      multiply_inputs(layer);
      if (layer == 0) lanes_.order(kSideLane, kMainLane);
      launch(layer);
    }
    lanes_.join();
  }

 private:
  at::Device device() const { return layers_[0].gates.device(); }

  void pack(size_t layer) {
    const at::Tensor& weight = layers_[layer].weights.weight_hh;
    kernels::pack_forward_weights(sequence_of(spec_, layers_[layer]), weight.const_data_ptr(),
                                  packed_[layer].data_ptr(), stream_of(weight));
  }

  void multiply_inputs(size_t layer) {
    LayerTrace& trace = layers_[layer];
    if (layer > 0 && !masks_.empty())
      at::mul_out(trace.input, states_after(spec_.direction, layers_[layer - 1].hidden), masks_[layer - 1]);
    at::Tensor products = matrix_of(trace.gates);
    at::mm_out(products, matrix_of(trace.input), trace.weights.weight_ih.t());
  }

  void launch(size_t layer) {
    LayerTrace& trace = layers_[layer];
    launch_on_stream(PersistentForward{.sequence = sequence_of(spec_, trace),
                                       .weights = packed_[layer].const_data_ptr(),
                                       .bias_ih = trace.weights.bias_ih.const_data_ptr(),
                                       .bias_hh = trace.weights.bias_hh.const_data_ptr(),
                                       .gates = trace.gates.data_ptr(),
                                       .candidates = result_or_null<void>(trace.candidates),
                                       .hidden = trace.hidden.data_ptr(),
                                       .cell = result_or_null<float>(trace.cell),
                                       .timed_out = gave_up_flag()},
                     stream_of(trace.gates));
  }

  const UnrolledSpec& spec_;
  std::vector<LayerTrace>& layers_;
  const std::vector<at::Tensor>& masks_;
  std::vector<at::Tensor> packed_;
  Lanes lanes_;  // after all that is prepared on the current stream
};

class PersistentBackwardPass {
 public:
  PersistentBackwardPass(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                         const std::vector<at::Tensor>& masks, const ResultGradients& results, Needs needs)
      : spec_(spec),
        layers_(layers),
        masks_(masks),
        results_(results),
        needs_(needs),
        gradients_(make_gradients()),
        weights_(make_weight_gradients()),
        packed_(empty_packed(spec, layers)),
        lanes_(layers[0].gates.device(), 3) {}

  PassGradients run() {
    const size_t top = layers_.size() - 1;
    lanes_.run(kSideLane, [&] {
      for (size_t layer = layers_.size(); layer-- > 0;) pack(layer);
    });
    lanes_.order(kSideLane, kMainLane);
    for (size_t layer = layers_.size(); layer-- > 0;) {
      const KernelStart start;
      launch(layer, start);
      if (layer < top && needs_.weights) multiply_weights_beside(start, layer + 1);
      if (layer > 0 || needs_.input) multiply_inputs(layer);
    }
    if (needs_.weights) multiply_last_weights();
    lanes_.join();
    PassGradients result = {gradients_[0].input, {}, weights_};
    for (const LayerGradients& gradients : gradients_)
      result.initial.push_back({gradients.from_next_step, gradients.carry});
    return result;
  }

 private:
  std::vector<LayerGradients> make_gradients() const {
    std::vector<LayerGradients> all(layers_.size());
    for (size_t layer = layers_.size(); layer-- > 0;) {
      const LayerTrace& trace = layers_[layer];
      LayerGradients& gradients = all[layer];
      gradients.output = layer + 1 == layers_.size() ? results_.hidden[layer] : all[layer + 1].input;
      if (!results_.cell.empty()) gradients.cell_output = results_.cell[layer];
      gradients.input_side = at::empty_like(trace.gates);
      gradients.recurrent_side = spec_.cell == Cell::kGru ? at::empty_like(trace.gates) : gradients.input_side;
      gradients.from_next_step = at::empty_like(trace.hidden[0]);
      if (spec_.cell == Cell::kLstm) gradients.carry = at::empty_like(trace.cell[0]);
      if (layer > 0 || needs_.input) gradients.input = at::empty_like(trace.input);
    }
    return all;
  }

  std::vector<WeightGradients> make_weight_gradients() const {
    std::vector<WeightGradients> all;
    if (!needs_.weights) return all;
    for (const LayerTrace& trace : layers_) all.push_back(empty_weight_gradients(spec_, trace));
    return all;
  }

  void pack(size_t layer) {
    const at::Tensor& weight = layers_[layer].weights.weight_hh;
    kernels::pack_backward_weights(sequence_of(spec_, layers_[layer]), weight.const_data_ptr(),
                                   packed_[layer].data_ptr(), stream_of(weight));
  }

  void launch(size_t layer, const KernelStart& start) {
    const LayerTrace& trace = layers_[layer];
    LayerGradients& gradients = gradients_[layer];
    PersistentSequence sequence = sequence_of(spec_, trace);
    sequence.started = start.event();
    launch_on_stream(PersistentBackward{.sequence = sequence,
                                        .weights = packed_[layer].const_data_ptr(),
                                        .gates = trace.gates.const_data_ptr(),
                                        .candidates = data_or_null<void>(trace.candidates),
                                        .hidden = trace.hidden.const_data_ptr(),
                                        .cell = data_or_null<float>(trace.cell),
                                        .output_gradient = data_or_null<void>(gradients.output),
                                        .cell_gradient = data_or_null<float>(gradients.cell_output),
                                        .input_side = gradients.input_side.data_ptr(),
                                        .recurrent_side = gradients.recurrent_side.data_ptr(),
                                        .initial_hidden = gradients.from_next_step.data_ptr(),
                                        .initial_cell = result_or_null<float>(gradients.carry),
                                        .timed_out = gave_up_flag()},
                     stream_of(trace.gates));
  }

  // The gradient of the layer's input, which is what the layer below gets for its outputs.
  void multiply_inputs(size_t layer) {
    LayerGradients& gradients = gradients_[layer];
    at::Tensor product = matrix_of(gradients.input);
    at::mm_out(product, matrix_of(gradients.input_side), layers_[layer].weights.weight_ih);
    if (layer == 0) return;
    if (!masks_.empty()) gradients.input.mul_(masks_[layer - 1]);
    const at::Tensor& from_result = results_.hidden[layer - 1];
    if (from_result.defined()) gradients.input.add_(from_result);
  }

  // On the SMs that a kernel leaves free, and not before all of its clusters have theirs: what came first would keep
  // them.
  void multiply_weights_beside(const KernelStart& kernel, size_t layer) {
    lanes_.run(kSideLane, [&] {
      kernel.wait_on(stream_of(layers_[layer].gates));
      multiply_weight_gradients(spec_, layers_[layer], gradients_[layer], weights_[layer]);
    });
  }

  // Of the bottom layer, which has no kernel after it: all side by side.
  void multiply_last_weights() {
    lanes_.order(kMainLane, kSideLane);
    lanes_.order(kMainLane, kOtherSideLane);
    lanes_.run(kOtherSideLane, [&] { sum_bias_gradients(spec_, gradients_[0], weights_[0]); });
    lanes_.run(kSideLane, [&] { multiply_input_weights(layers_[0], gradients_[0], weights_[0]); });
    multiply_recurrent_weights(spec_, layers_[0], gradients_[0], weights_[0]);
  }

  const UnrolledSpec& spec_;
  const std::vector<LayerTrace>& layers_;
  const std::vector<at::Tensor>& masks_;
  const ResultGradients& results_;
  Needs needs_;
  std::vector<LayerGradients> gradients_;
  std::vector<WeightGradients> weights_;
  std::vector<at::Tensor> packed_;
  Lanes lanes_;  // after all that is prepared on the current stream
};

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
  require_that_none_gave_up();
}

ExecutionPath persistent_path(at::ScalarType type) {
  const auto numbers = [&]() -> std::string_view {
    if (type != at::kFloat) return number_type_name(type);
    if (factors_now() == kernels::Factors::kTf32) return "tf32 class: float16 operands, float32 sums";
    return "float32: each factor as two float16, float32 sums";
  };
  return {fmt::format("persistent kernel on clusters ({})", numbers()), {}};
}

void run_persistent_forward(const UnrolledSpec& spec, std::vector<LayerTrace>& layers,
                            const std::vector<at::Tensor>& masks) {
  const c10::cuda::CUDAGuard device(layers[0].gates.device());
  PersistentForwardPass(spec, layers, masks).run();
}

PassGradients run_persistent_backward(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                      const std::vector<at::Tensor>& masks, const ResultGradients& results,
                                      Needs needs) {
  const c10::cuda::CUDAGuard device(layers[0].gates.device());
  return PersistentBackwardPass(spec, layers, masks, results, needs).run();
}

}  // namespace rnnlab
