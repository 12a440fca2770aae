// SPDX-License-Identifier: Apache-2.0
// The record of `cudnn` is in the main library, and the layer in librnnlab_cuda.so.
#include "base/error.h"
#include "recurrent/cuda_functions.h"

namespace rnnlab {
namespace {

std::shared_ptr<RecurrentLayer> make_cudnn(const RecurrentOptions& options) {
  if (!make_cudnn_layer.is_defined())
    throw_error(ExitCode::kUsage, "{}", *unsupported_reason(LayerKind::kCudnn, Processor::kCpu));
  return make_cudnn_layer(options);
}

}  // namespace

const LayerInfo& cudnn_layer_info() {
  static const LayerInfo info = {
      .description = "cuDNN called directly, by the algorithm that is asked for or was measured to be the fastest",
      .cells = {Cell::kLstm, Cell::kGru, Cell::kRnnTanh, Cell::kRnnRelu},
      .processors = {Processor::kGpu},
      .other_processor = "needs a CUDA GPU; on a CPU use layer: blocked",
      .speed_rank = 10,
      .make = make_cudnn,
      .unsupported_option = [](const RecurrentOptions& options) { return unsupported_by_library("cuDNN", options); }};
  return info;
}

}  // namespace rnnlab
