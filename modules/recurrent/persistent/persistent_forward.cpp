#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/native_dropout.h>
#include <c10/cuda/CUDAGuard.h>

#include "recurrent/persistent/factor.h"
#include "recurrent/persistent/persistent_launch.h"
#include "recurrent/persistent/persistent_pass.h"
#include "recurrent/persistent/token_products.h"
#include "recurrent/unrolled/lanes.h"

namespace rnnlab {
namespace {

// Weights are laid out on a lane of their own, those of the backward pass beside the kernels.
constexpr size_t kForwardLane = 0;
constexpr size_t kPackLane = 1;

class PersistentForwardPass {
 public:
  PersistentForwardPass(const UnrolledSpec& spec, std::vector<LayerTrace>& layers, std::vector<at::Tensor>& masks)
      : spec_(spec), layers_(layers), masks_(masks), packed_(make_room()), lanes_(device(), 2) {}

  void run() {
    lanes_.run(kPackLane, [&] { pack_for_forward(spec_, layers_[0], packed_[0]); });
    multiply_inputs(0);
    lanes_.order(kPackLane, kForwardLane);
    lanes_.run(kPackLane, [&] { lay_out_all_other_weights(); });
    launch_forward(spec_, layers_[0], packed_[0]);
    lanes_.order(kPackLane, kForwardLane);
    for (size_t layer = 1; layer < layers_.size(); ++layer) {
      read_from_below(layer);
      multiply_inputs(layer);
      launch_forward(spec_, layers_[layer], packed_[layer]);
    }
    if (layers_.back().half_hidden.defined()) layers_.back().half_hidden.copy_(layers_.back().hidden);
    lanes_.join();
  }

 private:
  at::Device device() const { return layers_[0].gates.device(); }
  bool may_go_back() const { return spec_.gradients == GradientUse::kPossible; }
  bool drops() const { return spec_.dropout > 0; }

  // On the current stream, for all that the lanes fill.
  std::vector<at::Tensor> make_room() {
    std::vector<at::Tensor> packed;
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      LayerTrace& trace = layers_[layer];
      packed.push_back(empty_packed(spec_, trace));
      if (may_go_back()) trace.packed = empty_packed(spec_, trace);
      make_room_for_half(layer);
    }
    return packed;
  }

  void make_room_for_half(size_t layer) {
    LayerTrace& trace = layers_[layer];
    const auto half = [](const at::Tensor& tensor) {
      return at::empty(tensor.sizes(), tensor.options().dtype(at::kHalf).requires_grad(false));
    };
    const at::Tensor gates = matrix_of(trace.gates);
    const bool is_read_above = layer + 1 < layers_.size() && !drops();
    if ((layer > 0 || (may_go_back() && !trace.tokens.defined())) && gains_by_half(gates, trace.weights.weight_ih))
      trace.half_weight_ih = half(trace.weights.weight_ih);
    if ((is_read_above || may_go_back()) && gains_by_half(gates, trace.weights.weight_hh))
      trace.half_hidden = half(trace.hidden);
  }

  void lay_out_all_other_weights() const {
    for (size_t layer = 1; layer < layers_.size(); ++layer) pack_for_forward(spec_, layers_[layer], packed_[layer]);
    for (const LayerTrace& trace : layers_)
      if (trace.half_weight_ih.defined()) trace.half_weight_ih.copy_(trace.weights.weight_ih);
    for (const LayerTrace& trace : layers_)
      if (trace.packed.defined()) pack_for_backward(spec_, trace, trace.packed);
  }

  // What the layer reads is there: the states of the layer below, or what dropout leaves of them.
  void read_from_below(size_t layer) {
    LayerTrace& trace = layers_[layer];
    LayerTrace& below = layers_[layer - 1];
    if (below.half_hidden.defined()) below.half_hidden.copy_(below.hidden);
    if (drops()) {
      const auto [kept, mask] =
          at::native_dropout(states_after(spec_.direction, below.hidden), spec_.dropout, /*train=*/true);
      trace.input = kept;
      masks_.push_back(mask);
    }
    if (!trace.half_weight_ih.defined()) return;
    const bool is_there = below.half_hidden.defined() && !drops();
    trace.half_input = is_there ? states_after(spec_.direction, below.half_hidden) : trace.input.to(at::kHalf);
  }

  // Hidden states are float16 in the kernels, too; what the bottom layer reads may have any size.
  void multiply_inputs(size_t layer) {
    LayerTrace& trace = layers_[layer];
    if (trace.tokens.defined()) return multiply_rows(trace);
    at::Tensor products = matrix_of(trace.gates);
    if (trace.half_input.defined())
      at::mm_out(products, matrix_of(trace.half_input), trace.half_weight_ih.t(), at::kFloat);
    else
      at::mm_out(products, matrix_of(trace.input), trace.weights.weight_ih.t());
  }

  const UnrolledSpec& spec_;
  std::vector<LayerTrace>& layers_;
  std::vector<at::Tensor>& masks_;
  std::vector<at::Tensor> packed_;
  Lanes lanes_;  // after all that is prepared on the current stream
};

}  // namespace

void run_persistent_forward(const UnrolledSpec& spec, std::vector<LayerTrace>& layers, std::vector<at::Tensor>& masks) {
  const c10::cuda::CUDAGuard device(layers[0].gates.device());
  PersistentForwardPass(spec, layers, masks).run();
}

}  // namespace rnnlab
