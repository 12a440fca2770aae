// SPDX-License-Identifier: Apache-2.0
#include "recurrent/unrolled/unrolled_layer.h"

namespace rnnlab {
namespace {

constexpr UnrolledVariant kBlockedVariant = {.kind = LayerKind::kBlocked,
                                             .fuses_pointwise = true,
                                             .pretransposes = true,
                                             .input_products = InputProducts::kAllSteps,
                                             .is_blocked = true};

}  // namespace

const LayerInfo& blocked_layer_info() {
  static const LayerInfo info = {
      .description = "hoisted for the CPU: packed weights, the batch cut between the threads, oneDNN's block kernels",
      .cells = {Cell::kLstm, Cell::kGru, Cell::kRnnTanh, Cell::kRnnRelu},
      .processors = {Processor::kCpu},
      .other_processor = "is made of kernels for the CPU; on a GPU use layer: hoisted or cudnn",
      .speed_rank = 11,
      .is_optimisation_step = true,
      .make = make_unrolled<kBlockedVariant>,
      .unsupported_option = unsupported_by_unrolled};
  return info;
}

}  // namespace rnnlab
