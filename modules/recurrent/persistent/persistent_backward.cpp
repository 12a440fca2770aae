#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <c10/cuda/CUDAGuard.h>

#include "recurrent/persistent/persistent_launch.h"
#include "recurrent/persistent/persistent_pass.h"
#include "recurrent/persistent/weight_products.h"
#include "recurrent/unrolled/gradient_room.h"
#include "recurrent/unrolled/lanes.h"

namespace rnnlab {
namespace {

// The main lane has the kernels and the products that they wait for, the others what nothing in the pass waits for.
constexpr size_t kMainLane = 0;
constexpr size_t kSideLane = 1;
constexpr size_t kOtherSideLane = 2;

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
        weights_(empty_weight_gradients(spec, layers, needs)),
        packed_(empty_packed(spec, layers)),
        lanes_(layers[0].gates.device(), 3) {}

  PassGradients run() {
    lanes_.run(kSideLane, [&] {
      for (size_t layer = layers_.size(); layer-- > 0;) pack_for_backward(spec_, layers_[layer], packed_[layer]);
    });
    lanes_.order(kSideLane, kMainLane);
    for (size_t layer = layers_.size(); layer-- > 0;) {
      const KernelStart start;
      launch_backward(spec_, layers_[layer], packed_[layer], gradients_[layer], start);
      if (layer + 1 < layers_.size() && needs_.weights) multiply_weights_beside(start, layer + 1);
      if (layer > 0 || needs_.input) multiply_inputs(layer);
    }
    if (needs_.weights)
      multiply_last_weights();
    else
      lanes_.join();
    PassGradients result = {gradients_[0].input, {}, weights_};
    for (const LayerGradients& gradients : gradients_)
      result.initial.push_back({gradients.from_next_step, gradients.carry});
    return result;
  }

 private:
  std::vector<LayerGradients> make_gradients() const {
    std::vector<LayerGradients> all = empty_gradients(spec_, layers_, results_, needs_);
    if (spec_.cell != Cell::kLstm) return all;
    for (size_t layer = 0; layer < all.size(); ++layer) all[layer].carry = at::empty_like(layers_[layer].cell[0]);
    return all;
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
      kernel.wait_on(c10::cuda::getCurrentCUDAStream(layers_[layer].gates.device().index()).stream());
      WeightProducts(spec_, layers_[layer], gradients_[layer], weights_[layer]).run();
    });
  }

  // Of the bottom layer, which has no kernel after it: all side by side.
  void multiply_last_weights() {
    WeightProducts products(spec_, layers_[0], gradients_[0], weights_[0]);
    products.prepare();
    lanes_.order(kMainLane, kSideLane);
    lanes_.order(kMainLane, kOtherSideLane);
    lanes_.run(kSideLane, [&] { products.multiply_inputs(); });
    products.multiply_recurrent();
    lanes_.run(kOtherSideLane, [&] { products.sum_biases(); });
    lanes_.join();
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

PassGradients run_persistent_backward(const UnrolledSpec& spec, const std::vector<LayerTrace>& layers,
                                      const std::vector<at::Tensor>& masks, const ResultGradients& results,
                                      Needs needs) {
  const c10::cuda::CUDAGuard device(layers[0].gates.device());
  return PersistentBackwardPass(spec, layers, masks, results, needs).run();
}

}  // namespace rnnlab
