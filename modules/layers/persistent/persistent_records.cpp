// SPDX-License-Identifier: Apache-2.0
// The records of the persistent layers are in the main library, and their passes in librnnlab_cuda.so.
#include <fmt/format.h>

#include "layers/device/gpu_support.h"
#include "layers/persistent/host/kernel_plan.h"
#include "layers/persistent/slstm_layer.h"
#include "layers/unrolled/unrolled_layer.h"

namespace rnnlab {
namespace {

using enum RecurrentOption;
using kernels::PersistentKernels;
using kernels::persistent::has_blocks;

constexpr Capability kFirstWithBlocks = {8, 0};    // products of bfloat16 on tensor cores
constexpr Capability kFirstWithClusters = {9, 0};  // clusters of thread blocks

constexpr UnrolledVariant persistent_variant(LayerKind kind, PersistentKernels kernels) {
  return {.kind = kind,
          .fuses_pointwise = true,
          .pretransposes = true,
          .input_products = InputProducts::kAllSteps,
          .is_persistent = true,
          .shares_gpu = has_blocks(kernels),
          .kernels = kernels};
}

constexpr UnrolledVariant kBlockVariant = persistent_variant(LayerKind::kPersistentBlock, PersistentKernels::kBlocks);
constexpr UnrolledVariant kClustersVariant =
    persistent_variant(LayerKind::kPersistentClusters, PersistentKernels::kClusters);
constexpr UnrolledVariant kTeamsVariant =
    persistent_variant(LayerKind::kPersistentTeams, PersistentKernels::kClustersAndTeams);
constexpr UnrolledVariant kPersistentVariant = persistent_variant(LayerKind::kPersistent, PersistentKernels::kAll);

// Each head of sLSTM has a block of its own.
PersistentKernels kernels_for(Cell cell, PersistentKernels kernels) {
  return cell == Cell::kSlstm ? PersistentKernels::kBlocks : kernels;
}

Refusal refusal_of_every_gpu(const RecurrentOptions& options, PersistentKernels kernels) {
  const auto sizes = kernels::persistent_sizes(kernels::Operands::kTf32, kernels);
  const int64_t in_float32 = kernels::persistent_sizes(kernels::Operands::kFloat32, kernels).most;
  const bool is_of_heads = options.cell == Cell::kSlstm;
  const std::string size = fmt::format("hidden_size: {}", options.hidden_size);
  return {
      fmt::format("does not support {} (its kernels {} from {} to {}{})",
                  is_of_heads ? fmt::format("{} with heads: {}", size, options.heads) : size,
                  is_of_heads ? "for slstm have heads of a multiple of 8 units" : "have multiples of 8", sizes.least,
                  sizes.most, in_float32 < sizes.most ? fmt::format(", in fp32 to {}", in_float32) : ""),
      {"layer", "model.hidden_size"},
      Refusal::Advice::kOtherLayers};
}

// Before compute capability 9.0, layers that one block does not hold have kernels over the whole GPU, but not in fp32.
// Layers of more than 1024 units need exactly 9.0.
std::optional<Refusal> refusal_of_gpu(int64_t hidden_size, bool is_fp32, const Gpu& gpu) {
  const bool has_wgmma = gpu.capability.major == kFirstWithClusters.major;
  if (has_wgmma || hidden_size <= kernels::kLargestOfBlocks) return std::nullopt;
  const std::string size = fmt::format("does not support hidden_size: {} on {} (compute capability {})", hidden_size,
                                       gpu.name, text_of(gpu.capability));
  if (gpu.capability < kFirstWithClusters && is_fp32)
    return Refusal{fmt::format("{} in fp32: its kernels for more than {} units in fp32 need compute capability 9.0 or "
                               "later; use precision: tf32 or bf16, or layer: cudnn",
                               size, kernels::kLargestOfBlocks),
                   {"layer", "model.hidden_size", "precision"}};
  if (hidden_size <= kernels::kLargestOfGridsByMma) return std::nullopt;
  return Refusal{fmt::format("{}: its kernels for more than {} units need compute capability 9.0; use layer: cudnn",
                             size, kernels::kLargestOfGridsByMma),
                 {"layer", "model.hidden_size"}};
}

template <const UnrolledVariant& variant>
std::optional<Refusal> size_limit_of(const RecurrentOptions& options, const LayerWork& work) {
  const PersistentKernels kernels = kernels_for(options.cell, variant.kernels);
  const int64_t size = options.hidden_size / options.heads;
  if (!kernels::has_persistent_layer(size, kernels::Operands::kTf32, kernels))
    return refusal_of_every_gpu(options, kernels);
  const bool is_fp32 = work.precision == Precision::kFp32;
  if (is_fp32 && !kernels::has_persistent_layer(size, kernels::Operands::kFloat32, kernels))
    return Refusal{"supports at most 1024 units in fp32; use precision: tf32 or bf16, or layer: cudnn",
                   {"layer", "precision", "model.hidden_size"}};
  return work.gpu ? refusal_of_gpu(size, is_fp32, *work.gpu) : std::nullopt;
}

// In fp32 the kernels compute small factors with fewer digits; in tf32, hidden states of rnn_relu may overflow float16.
bool persistent_is_less_precise(const RecurrentOptions& options, Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return true;
    case Precision::kTf32:
      return options.cell == Cell::kRnnRelu;
    case Precision::kBf16:
    case Precision::kFp16:
      return false;
  }
  return true;
}

std::vector<Cell> cells_of(PersistentKernels kernels) {
  std::vector<Cell> cells = {Cell::kLstm, Cell::kGru, Cell::kRnnTanh, Cell::kRnnRelu};
  if (has_blocks(kernels)) cells.push_back(Cell::kSlstm);
  return cells;
}

template <const UnrolledVariant& variant>
std::shared_ptr<RecurrentLayer> make_persistent(const RecurrentOptions& options) {
  if (options.cell == Cell::kSlstm) return std::make_shared<PersistentSlstm>(variant.kind, options);
  return make_unrolled<variant>(options);
}

template <const UnrolledVariant& variant>
LayerInfo persistent_info(std::string_view description, int speed_rank, AutoUse auto_use) {
  return {.description = description,
          .cells = cells_of(variant.kernels),
          .options = {kNumLayers, kBidirectional, kDropout, kHeads},
          .processors = {Processor::kGpu},
          .other_processor = has_blocks(variant.kernels)
                                 ? std::string_view("needs a GPU of compute capability 8.0 or later; on a CPU use "
                                                    "layer: blocked, or naive for any cell")
                                 : std::string_view("needs a GPU of compute capability 9.0 or later; on a CPU use "
                                                    "layer: blocked, or naive for any cell"),
          .needs_own_kernels = true,
          .compiles_kernels = true,
          .min_gpu_capability = has_blocks(variant.kernels) ? kFirstWithBlocks : kFirstWithClusters,
          .speed_rank = speed_rank,
          .auto_use = auto_use,
          .make = make_persistent<variant>,
          .size_limit = size_limit_of<variant>,
          .is_less_precise = persistent_is_less_precise};
}

}  // namespace

const LayerInfo& persistent_block_layer_info() {
  static const LayerInfo info = persistent_info<kBlockVariant>(
      "all steps of a layer in one kernel on a GPU of compute capability 8.0 or later, the recurrent weights in one "
      "block for each group of sequences",
      12, AutoUse::kIfNoOther);
  return info;
}

const LayerInfo& persistent_clusters_layer_info() {
  static const LayerInfo info = persistent_info<kClustersVariant>(
      "all steps of a layer in one kernel on a GPU of compute capability 9.0 or later, the recurrent weights in "
      "clusters of its blocks",
      13, AutoUse::kIfNoOther);
  return info;
}

const LayerInfo& persistent_teams_layer_info() {
  static const LayerInfo info = persistent_info<kTeamsVariant>(
      "persistent_clusters, with smaller blocks, or teams of warps that take turns, where they are faster", 14,
      AutoUse::kIfNoOther);
  return info;
}

const LayerInfo& persistent_layer_info() {
  static const LayerInfo info = persistent_info<kPersistentVariant>(
      "persistent_block or persistent_teams, or the recurrent weights over the whole GPU, and layers side by side, "
      "where that is faster",
      15, AutoUse::kAlways);
  return info;
}

}  // namespace rnnlab
