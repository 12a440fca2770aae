// SPDX-License-Identifier: Apache-2.0
// The record of `persistent` is in the main library, and its passes in librnnlab_cuda.so.
#include <fmt/format.h>

#include "layers/device/gpu_support.h"
#include "layers/kernel_cache/nvrtc.h"
#include "layers/persistent/host/kernel_plan.h"
#include "layers/persistent/persistent_layer.h"
#include "layers/persistent/persistent_program.h"
#include "layers/persistent/persistent_stack.h"
#include "layers/persistent/slstm_layer.h"
#include "layers/program/bounds.h"

namespace rnnlab {
namespace {

using enum RecurrentOption;
using kernels::persistent::has_blocks;

constexpr Capability kFirstWithBlocks = {8, 0};    // products of bfloat16 on tensor cores
constexpr Capability kFirstWithClusters = {9, 0};  // clusters of thread blocks

// Each head of sLSTM has a block of its own.
PersistentForm form_of(const RecurrentOptions& options) {
  return options.cell == Cell::kSlstm ? PersistentForm::kBlocks : options.persistent_form;
}

// The opening of messages that a form has of its own.
std::string with_form(const RecurrentOptions& options) {
  if (options.persistent_form == PersistentForm::kAll) return "";
  return fmt::format("with persistent_form: {} ", config::name_of(options.persistent_form));
}

Refusal refusal_of_every_gpu(const RecurrentOptions& options) {
  const auto sizes = kernels::persistent_sizes(kernels::Operands::kTf32, form_of(options));
  const int64_t in_float32 = kernels::persistent_sizes(kernels::Operands::kFloat32, form_of(options)).most;
  const bool is_of_heads = options.cell == Cell::kSlstm;
  const std::string size = fmt::format("hidden_size: {}", options.hidden_size);
  return {
      fmt::format("{}does not support {} (its kernels {} from {} to {}{})", with_form(options),
                  is_of_heads ? fmt::format("{} with heads: {}", size, options.heads) : size,
                  is_of_heads ? "for slstm have heads of a multiple of 8 units" : "have multiples of 8", sizes.least,
                  sizes.most, in_float32 < sizes.most ? fmt::format(", in fp32 to {}", in_float32) : ""),
      {"layer", "model.hidden_size"},
      Refusal::Advice::kOtherLayers};
}

// The fastest layer besides that has the cell in every size.
std::string_view other_layer(const RecurrentOptions& options) {
  return config::name_of(has_cell(LayerKind::kCudnn, options.cell) ? LayerKind::kCudnn : LayerKind::kHoisted);
}

// Before compute capability 9.0, layers that one block does not hold have kernels over the whole GPU, but not in fp32.
// Layers of more than 1024 units need exactly 9.0.
std::optional<Refusal> refusal_of_gpu(const RecurrentOptions& options, bool is_fp32, const Gpu& gpu) {
  const int64_t hidden_size = options.hidden_size / options.heads;
  const bool has_wgmma = gpu.capability.major == kFirstWithClusters.major;
  if (has_wgmma || hidden_size <= kernels::kLargestOfBlocks) return std::nullopt;
  const std::string size = fmt::format("does not support hidden_size: {} on {} (compute capability {})", hidden_size,
                                       gpu.name, text_of(gpu.capability));
  if (gpu.capability < kFirstWithClusters && is_fp32)
    return Refusal{fmt::format("{} in fp32: its kernels for more than {} units in fp32 need compute capability 9.0 or "
                               "later; use precision: tf32 or bf16, or layer: {}",
                               size, kernels::kLargestOfBlocks, other_layer(options)),
                   {"layer", "model.hidden_size", "precision"}};
  if (hidden_size <= kernels::kLargestOfGridsByMma) return std::nullopt;
  return Refusal{fmt::format("{}: its kernels for more than {} units need compute capability 9.0; use layer: {}", size,
                             kernels::kLargestOfGridsByMma, other_layer(options)),
                 {"layer", "model.hidden_size"}};
}

// Clusters of blocks need compute capability 9.0, and have no kernels for sLSTM.
std::optional<Refusal> refusal_of_clusters(const RecurrentOptions& options, const std::optional<Gpu>& gpu) {
  if (options.cell == Cell::kSlstm)
    return Refusal{with_form(options) + "does not support cell: slstm; use persistent_form: block", {"layer"}};
  if (!gpu || gpu->capability >= kFirstWithClusters) return std::nullopt;
  return Refusal{fmt::format("{}needs compute capability 9.0, and {} has {}; use persistent_form: block",
                             with_form(options), gpu->name, text_of(gpu->capability)),
                 {"layer", "device"}};
}

std::optional<Refusal> size_limit_of(const RecurrentOptions& options, const LayerWork& work) {
  if (options.heads > 1 && options.cell != Cell::kSlstm)
    return Refusal{
        fmt::format("does not support heads: {} of cell: {} (only of slstm)", options.heads, cell_name(options.cell)),
        {"layer", "model.heads", "model.cell"},
        Refusal::Advice::kOtherLayers};
  if (!work.features.empty() && options.cell == Cell::kSlstm)
    return Refusal{fmt::format("does not support {} for cell: slstm", text_of(work.features.front())),
                   {"layer", "model.cell"},
                   Refusal::Advice::kOtherLayers};
  const bool has_starts = std::ranges::count(work.features, PassFeature::kStarts) > 0;
  const auto no_nvrtc = has_starts && work.gpu ? nvrtc_unavailable_reason() : std::nullopt;
  if (no_nvrtc)  // builds have no compiled kernels with starts
    return Refusal{fmt::format("compiles its kernels for starts within the input, and cannot: {}", *no_nvrtc),
                   {"layer", "device"},
                   Refusal::Advice::kOtherLayers};
  auto refusal = has_blocks(options.persistent_form) ? std::nullopt : refusal_of_clusters(options, work.gpu);
  if (refusal) return refusal;
  const int64_t size = options.hidden_size / options.heads;
  if (!kernels::has_persistent_layer(size, kernels::Operands::kTf32, form_of(options)))
    return refusal_of_every_gpu(options);
  const bool is_fp32 = work.precision == Precision::kFp32;
  if (is_fp32 && !kernels::has_persistent_layer(size, kernels::Operands::kFloat32, form_of(options)))
    return Refusal{fmt::format("supports at most 1024 units in fp32; use precision: tf32 or bf16, or layer: {}",
                               other_layer(options)),
                   {"layer", "precision", "model.hidden_size"}};
  return work.gpu ? refusal_of_gpu(options, is_fp32, *work.gpu) : std::nullopt;
}

// In fp32 the kernels compute small factors with fewer digits; in tf32, hidden states without a bound, such as those of
// rnn_relu, may overflow float16. Those of sLSTM are means of numbers between -1 and 1, which their equations do not
// show.
bool persistent_is_less_precise(const RecurrentOptions& options, Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return true;
    case Precision::kTf32:
      return options.cell != Cell::kSlstm && !stays_within_one(program_of(options));
    case Precision::kBf16:
    case Precision::kFp16:
      return false;
  }
  return true;
}

std::shared_ptr<RecurrentLayer> make_persistent(const RecurrentOptions& options) {
  if (options.cell == Cell::kSlstm) return std::make_shared<PersistentSlstm>(options);
  return std::make_shared<PersistentStack>(options);
}

}  // namespace

const LayerInfo& persistent_layer_info() {
  static const LayerInfo info = {
      .description =
          "all steps of a layer in one kernel on a GPU of compute capability 8.0 or later, the recurrent weights in "
          "one "
          "block for each group of sequences, in clusters of blocks or over the whole GPU, and layers side by side",
      .options = {kNumLayers, kBidirectional, kDropout, kHeads},
      .processors = {Processor::kGpu},
      .other_processor =
          "needs a GPU of compute capability 8.0 or later; on a CPU use layer: auto, which takes the fastest that "
          "computes the cell, or naive",
      .features = {PassFeature::kStarts, PassFeature::kAllStates},
      .needs_own_kernels = true,
      .compiles_kernels = true,
      .min_gpu_capability = kFirstWithBlocks,
      .speed_rank = 15,
      .make = make_persistent,
      .why_not = why_no_persistent_program,
      .size_limit = size_limit_of,
      .is_less_precise = persistent_is_less_precise};
  return info;
}

}  // namespace rnnlab
