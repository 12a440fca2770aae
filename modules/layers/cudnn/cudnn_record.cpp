// SPDX-License-Identifier: Apache-2.0
// The record of `cudnn` is in the main library, and the layer in librnnlab_cuda.so.
#include "layers/cuda_functions.h"

namespace rnnlab {
namespace {

std::shared_ptr<RecurrentLayer> make_cudnn(const RecurrentOptions& options) {
  if (!make_cudnn_layer.is_defined()) require_supported(LayerKind::kCudnn, {.processor = Processor::kCpu});
  return make_cudnn_layer(options);
}

}  // namespace

const LayerInfo& cudnn_layer_info() {
  using enum RecurrentOption;
  static const LayerInfo info = {
      .description = "cuDNN called directly, by the algorithm that is asked for or was measured to be the fastest",
      .cells = {Cell::kLstm, Cell::kGru, Cell::kRnnTanh, Cell::kRnnRelu},
      .options = {kNumLayers, kBidirectional, kDropout},
      .processors = {Processor::kGpu},
      .other_processor = "needs a CUDA GPU; on a CPU use layer: blocked",
      .speed_rank = 10,
      .make = make_cudnn};
  return info;
}

}  // namespace rnnlab
