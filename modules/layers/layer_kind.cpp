// SPDX-License-Identifier: Apache-2.0
#include "layers/layer_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/text.h"
#include "layers/device/gpu_device.h"

namespace rnnlab {

#define RNNLAB_LAYER(enumerator, name) const LayerInfo& name##_layer_info();
#include "layers/layer_list.inc"

using config::name_of;

const LayerInfo& info_of(LayerKind kind) {
  switch (kind) {
#define RNNLAB_LAYER(enumerator, name) \
  case LayerKind::enumerator:          \
    return name##_layer_info();
#include "layers/layer_list.inc"
  }
  fail_invariant("a listed layer kind", __FILE__, __LINE__, "info_of does not know the layer kind");
}

const LayerInfo& auto_layer_info() {
  static const LayerInfo info = {.description = "the fastest of the other layers for this work, by measurement",
                                 .options = {},  // it is asked for its layers
                                 .processors = {Processor::kCpu, Processor::kGpu},
                                 .why_not = [](const CellProgram&) { return std::string(); }};
  return info;
}

std::vector<LayerKind> layer_kinds() {
  std::vector<LayerKind> kinds;
  for (const auto& [kind, name] : config::EnumNames<LayerKind>::kNames)
    if (kind != LayerKind::kAuto) kinds.push_back(kind);
  return kinds;
}

static bool lists(const auto& values, auto value) { return std::ranges::find(values, value) != values.end(); }

static bool computes(const LayerInfo& layer, Cell cell) {
  if (layer.why_not == nullptr) return lists(layer.cells, cell);
  return (is_own(cell) || lists(all_cells(), cell)) && layer.why_not(program_of(cell)).empty();
}

bool has_cell(LayerKind kind, Cell cell) { return computes(info_of(kind), cell); }
bool has_feature(LayerKind kind, PassFeature feature) { return lists(info_of(kind).features, feature); }

std::string text_of(PassFeature feature) {
  switch (feature) {
    case PassFeature::kStarts:
      return "starts of sequences within the input";
    case PassFeature::kAllStates:
      return "the states after each step";
  }
  return "";
}

std::vector<Cell> cells_of(LayerKind kind) {
  std::vector<Cell> cells = all_cells();
  std::erase_if(cells, [&](Cell cell) { return !has_cell(kind, cell); });
  return cells;
}

bool has_option(const LayerInfo& layer, const UsedOption& option) { return lists(layer.options, option.option); }

// ---- why a layer does not support some work ----

namespace {

std::string reason_of(const LayerInfo& layer, Cell cell) {
  if (layer.why_not == nullptr) return "";
  return fmt::format(" ({})", layer.why_not(program_of(cell)));
}

// Returns whether the layer computes the option with its value in `options`.
bool computes(const LayerInfo& layer, const RecurrentOptions& options, const UsedOption& used) {
  const bool has_name = used.usual.empty() || !used.value.empty();  // a value of an enumeration, if it is a listed one
  if (layer.why_not == nullptr || !changes_equations(options.cell, used.option) || !has_name)
    return has_option(layer, used);
  return layer.why_not(program_of(with_only(used.option, options))).empty();
}

std::optional<Refusal> refusal_of_gpu(const LayerInfo& layer, const Gpu& gpu) {
  const auto refusal = [](std::string message) { return Refusal{std::move(message), {"layer", "device"}}; };
  if (gpu.capability < layer.min_gpu_capability)
    return refusal(fmt::format("needs compute capability {}, and {} has {}; use layer: cudnn",
                               text_of(layer.min_gpu_capability), gpu.name, text_of(gpu.capability)));
  if (layer.needs_own_kernels && !gpu.has_own_kernels)
    return refusal(
        fmt::format("needs own kernels for compute capability {} ({}), and this build has {}; use layer: fused, or {}",
                    text_of(gpu.capability), gpu.name, kernels::described(kernels::own_code()),
                    kernels::how_to_get_code(gpu.capability)));
  if (!layer.compiles_kernels || !why_no_persistent_kernels.is_defined()) return std::nullopt;
  const auto reason = why_no_persistent_kernels();
  return reason ? std::optional(refusal(fmt::format("cannot run: {}; or use layer: cudnn", *reason))) : std::nullopt;
}

std::optional<Refusal> refusal_of_values(const LayerInfo& layer, const LayerWork& work) {
  const auto refusal = [](std::string_view key, std::string_view value, std::vector<std::string> keys) {
    return Refusal{fmt::format("does not support {}: {}", key, value), std::move(keys), Refusal::Advice::kOtherLayers};
  };
  if (work.options && !computes(layer, work.options->cell))
    return refusal("cell", cell_name(work.options->cell) + reason_of(layer, work.options->cell),
                   {"layer", "model.cell"});
  if (work.options)
    for (const UsedOption& used : used_options(*work.options))
      if (!computes(layer, *work.options, used))
        return refusal(used.key, used.usual.empty() ? used.value : fmt::format("{}, only {}", used.value, used.usual),
                       {"layer", fmt::format("model.{}", used.key), "model.cell"});
  for (const PassFeature feature : work.features)
    if (!lists(layer.features, feature))
      return Refusal{"does not support " + text_of(feature), {"layer"}, Refusal::Advice::kOtherLayers};
  if (work.precision && !lists(layer.precisions, *work.precision))
    return refusal("precision", name_of(*work.precision), {"layer", "precision"});
  return work.options && layer.size_limit != nullptr ? layer.size_limit(*work.options, work) : std::nullopt;
}

std::optional<Refusal> refusal_by(const LayerInfo& layer, const LayerWork& work) {
  const auto processor = work.gpu ? Processor::kGpu : work.processor;
  if (processor && !lists(layer.processors, *processor))
    return Refusal{std::string(layer.other_processor), {"layer", "device"}};
  const auto refusal = work.gpu ? refusal_of_gpu(layer, *work.gpu) : std::nullopt;
  return refusal ? refusal : refusal_of_values(layer, work);
}

std::vector<std::string> layers_that_can(const LayerWork& work) {
  std::vector<std::string> names;
  for (const LayerKind kind : layer_kinds())
    if (!refusal_by(info_of(kind), work)) names.emplace_back(name_of(kind));
  return names;
}

}  // namespace

std::optional<Refusal> why_unsupported(LayerKind kind, const LayerWork& work) {
  if (work.options)
    for (const Contradiction& one : contradictions(*work.options)) return Refusal{one.opening + one.message, one.keys};
  if (kind == LayerKind::kAuto && !layers_that_can(work).empty()) return std::nullopt;
  std::optional<Refusal> refusal = refusal_by(info_of(kind), work);
  if (!refusal) return std::nullopt;
  refusal->message = fmt::format("layer: {} {}", name_of(kind), refusal->message);
  if (refusal->advice != Refusal::Advice::kOtherLayers) return refusal;
  const std::vector<std::string> others = layers_that_can(work);
  refusal->message += others.empty() ? "; no layer supports it" : "; use layer: " + join_with_or(others);
  return refusal;
}

void require_supported(LayerKind kind, const LayerWork& work) {
  if (const auto refusal = why_unsupported(kind, work)) throw_error(ExitCode::kUsage, "{}", refusal->message);
}

std::vector<LayerKind> candidates(const RecurrentOptions& options, Precision precision,
                                  std::optional<Processor> processor) {
  std::vector<LayerKind> kinds = layer_kinds();
  std::erase_if(kinds, [&](LayerKind kind) {
    const auto is_less_precise = info_of(kind).is_less_precise;
    return why_unsupported(kind, {.options = options, .precision = precision, .processor = processor}) ||
           (is_less_precise != nullptr && is_less_precise(options, precision));
  });
  std::ranges::sort(kinds, std::ranges::greater(), [](LayerKind kind) { return info_of(kind).speed_rank; });
  return kinds;
}

}  // namespace rnnlab
