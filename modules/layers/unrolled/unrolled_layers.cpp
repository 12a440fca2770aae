// SPDX-License-Identifier: Apache-2.0
// The records of the unrolled layers. `wavefront` and `diagonal` are not bidirectional, because a layer waits for the
// whole reverse sequence of the layer below, so that there is no diagonal.
#include <fmt/format.h>

#include "layers/kernel_cache/nvrtc.h"
#include "layers/unrolled/unrolled_layer.h"

namespace rnnlab {
namespace {

constexpr UnrolledVariant kBlockedVariant = {.kind = LayerKind::kBlocked,
                                             .fuses_pointwise = true,
                                             .pretransposes = true,
                                             .input_products = InputProducts::kAllSteps,
                                             .is_blocked = true};

using enum RecurrentOption;

// `diagonal` and `blocked` are made for one product of the hidden state in a step.
std::string why_not_one_product(const CellProgram& program) {
  if (program.has_dependent_product()) return "a product reads an expression in place of the hidden state";
  if (program.num_hidden_gates() == 0) return "no gate reads the hidden state";
  return why_no_step_code(program);
}

LayerInfo step_on_both(std::string_view description, int speed_rank, decltype(LayerInfo::make) make) {
  return {.description = description,
          .options = {kNumLayers, kBidirectional, kDropout, kHeads},
          .processors = {Processor::kCpu, Processor::kGpu},
          .features = {PassFeature::kStarts, PassFeature::kAllStates},
          .needs_own_kernels = true,
          .speed_rank = speed_rank,
          .is_optimisation_step = true,
          .make = make,
          .why_not = why_no_step_code,
          .size_limit = refusal_without_nvrtc};
}

constexpr std::string_view kNeedsStreams = "needs CUDA streams; on a CPU use layer: blocked";

}  // namespace

std::optional<Refusal> refusal_without_nvrtc(const RecurrentOptions& options, const LayerWork& work) {
  if (!work.gpu) return std::nullopt;
  if (work.gpu->has_own_kernels && compiled_number(program_of(options)) != kernels::kInterpreted) return std::nullopt;
  const auto reason = nvrtc_unavailable_reason();
  if (!reason) return std::nullopt;
  return Refusal{fmt::format("compiles its kernels for cell: {}, and cannot: {}; or use layer: naive",
                             cell_name(options.cell), *reason),
                 {"layer", "model.cell", "device"}};
}

const LayerInfo& grouped_layer_info() {
  static const LayerInfo info = {
      .description = "the products of all gates as one, two a step; own backward pass through time",
      .options = {kNumLayers, kBidirectional, kDropout, kHeads},
      .processors = {Processor::kCpu, Processor::kGpu},
      .features = {PassFeature::kStarts, PassFeature::kAllStates},
      .speed_rank = 2,
      .auto_use = AutoUse::kIfNoOther,
      .is_optimisation_step = true,
      .make = make_unrolled<kGroupedVariant>,
      .why_not = why_no_step_code};
  return info;
}

const LayerInfo& streamed_layer_info() {
  static const LayerInfo info = {
      .description = "grouped, with the input's and the recurrent product on two CUDA streams",
      .options = {kNumLayers, kBidirectional, kDropout, kHeads},
      .processors = {Processor::kGpu},
      .other_processor = kNeedsStreams,
      .features = {PassFeature::kStarts, PassFeature::kAllStates},
      .speed_rank = 3,
      .auto_use = AutoUse::kIfNoOther,
      .is_optimisation_step = true,
      .make = make_unrolled<kStreamedVariant>,
      .why_not = why_no_step_code};
  return info;
}

const LayerInfo& fused_pointwise_layer_info() {
  static const LayerInfo info = step_on_both("streamed, with one own kernel for all of a step but its products", 4,
                                             make_unrolled<kFusedPointwiseVariant>);
  return info;
}

const LayerInfo& pretransposed_layer_info() {
  static const LayerInfo info = step_on_both("fused_pointwise, with the weights transposed once for the backward pass",
                                             5, make_unrolled<kPretransposedVariant>);
  return info;
}

const LayerInfo& hoisted_layer_info() {
  static const LayerInfo info =
      step_on_both("pretransposed, with one product for the inputs of all steps", 6, make_unrolled<kHoistedVariant>);
  return info;
}

const LayerInfo& wavefront_layer_info() {
  static const LayerInfo info = {
      .description = "hoisted by groups of steps, so that layers run at the same time, each on its CUDA streams",
      .options = {kNumLayers, kDropout, kHeads},
      .processors = {Processor::kGpu},
      .other_processor = kNeedsStreams,
      .features = {PassFeature::kStarts, PassFeature::kAllStates},
      .needs_own_kernels = true,
      .speed_rank = 7,
      .is_optimisation_step = true,
      .make = make_unrolled<kWavefrontVariant>,
      .why_not = why_no_step_code,
      .size_limit = refusal_without_nvrtc};
  return info;
}

// `diagonal` does not have GRU, because the gradients of a GRU's two sides differ, so that the gradients of a step are
// not one product.
const LayerInfo& diagonal_layer_info() {
  static const LayerInfo info = {
      .description = "wavefront step by step, with one batched product and one own kernel for all layers",
      .options = {kNumLayers, kDropout},
      .processors = {Processor::kGpu},
      .other_processor = kNeedsStreams,
      .features = {PassFeature::kAllStates},
      .needs_own_kernels = true,
      .speed_rank = 8,
      .is_optimisation_step = true,
      .make = make_unrolled<kDiagonalVariant>,
      .why_not =
          [](const CellProgram& program) {
            std::string reason = why_not_one_product(program);
            if (!reason.empty() || !step_code_of(program).has_sides_apart) return reason;
            return std::string("the gradients of a gate's two sides differ");
          },
      .size_limit = refusal_without_nvrtc};
  return info;
}

const LayerInfo& blocked_layer_info() {
  static const LayerInfo info = {
      .description = "hoisted for the CPU: packed weights, the batch cut between the threads, oneDNN's block kernels",
      .options = {kNumLayers, kBidirectional, kDropout},
      .processors = {Processor::kCpu},
      .other_processor = "is made of kernels for the CPU; on a GPU use layer: hoisted or cudnn",
      .features = {PassFeature::kStarts, PassFeature::kAllStates},
      .speed_rank = 11,
      .is_optimisation_step = true,
      .make = make_unrolled<kBlockedVariant>,
      .why_not = why_not_one_product};
  return info;
}

}  // namespace rnnlab
