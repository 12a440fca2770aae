#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <c10/cuda/CUDAGuard.h>

#include "recurrent/persistent/factor.h"
#include "recurrent/persistent/persistent_launch.h"
#include "recurrent/persistent/persistent_pass.h"
#include "recurrent/unrolled/lanes.h"

namespace rnnlab {
namespace {

// Weights are laid out on a lane of their own.
constexpr size_t kForwardLane = 0;
constexpr size_t kPackLane = 1;

class PersistentForwardPass {
 public:
  PersistentForwardPass(const UnrolledSpec& spec, std::vector<LayerTrace>& layers, const std::vector<at::Tensor>& masks)
      : spec_(spec),
        layers_(layers),
        masks_(masks),
        packed_(empty_packed(spec, layers)),
        half_weights_(empty_half_weights()),
        lanes_(device(), 2) {}

  void run() {
    lanes_.run(kPackLane, [&] {
      for (size_t layer = 0; layer < layers_.size(); ++layer) pack_for_forward(spec_, layers_[layer], packed_[layer]);
      for (size_t layer = 0; layer < layers_.size(); ++layer)
        if (half_weights_[layer].defined()) half_weights_[layer].copy_(layers_[layer].weights.weight_ih);
    });
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      multiply_inputs(layer);
      if (layer == 0) lanes_.order(kPackLane, kForwardLane);
      launch_forward(spec_, layers_[layer], packed_[layer]);
    }
    lanes_.join();
  }

 private:
  at::Device device() const { return layers_[0].gates.device(); }

  // Of the layers whose products of inputs gain by float16.
  std::vector<at::Tensor> empty_half_weights() const {
    std::vector<at::Tensor> all(layers_.size());
    for (size_t layer = 1; layer < layers_.size(); ++layer) {
      const at::Tensor& weight = layers_[layer].weights.weight_ih;
      if (gains_by_half(matrix_of(layers_[layer].input), weight.t()))
        all[layer] = at::empty_like(weight, weight.options().dtype(at::kHalf));
    }
    return all;
  }

  void multiply_inputs(size_t layer) {
    LayerTrace& trace = layers_[layer];
    if (layer > 0 && !masks_.empty())
      at::mul_out(trace.input, states_after(spec_.direction, layers_[layer - 1].hidden), masks_[layer - 1]);
    at::Tensor products = matrix_of(trace.gates);
    const at::Tensor input = matrix_of(trace.input);
    // Hidden states are float16 in the kernels, too; what the bottom layer reads may have any size.
    if (const at::Tensor& half = half_weights_[layer]; half.defined())
      at::mm_out(products, input.to(at::kHalf), half.t(), at::kFloat);
    else
      at::mm_out(products, input, trace.weights.weight_ih.t());
  }

  const UnrolledSpec& spec_;
  std::vector<LayerTrace>& layers_;
  const std::vector<at::Tensor>& masks_;
  std::vector<at::Tensor> packed_;
  std::vector<at::Tensor> half_weights_;
  Lanes lanes_;  // after all that is prepared on the current stream
};

}  // namespace

void run_persistent_forward(const UnrolledSpec& spec, std::vector<LayerTrace>& layers,
                            const std::vector<at::Tensor>& masks) {
  const c10::cuda::CUDAGuard device(layers[0].gates.device());
  PersistentForwardPass(spec, layers, masks).run();
}

}  // namespace rnnlab
