// SPDX-License-Identifier: Apache-2.0
#include "recurrent/layer_kind.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "recurrent/cells/cell.h"

namespace rnnlab {

#define RNNLAB_LAYER(enumerator, name) const LayerInfo& name##_layer_info();
#include "recurrent/layer_list.inc"

using config::name_of;

const LayerInfo& info_of(LayerKind kind) {
  switch (kind) {
#define RNNLAB_LAYER(enumerator, name) \
  case LayerKind::enumerator:          \
    return name##_layer_info();
#include "recurrent/layer_list.inc"
  }
  fail_invariant("a listed layer kind", __FILE__, __LINE__, "info_of does not know the layer kind");
}

const LayerInfo& auto_layer_info() {
  static const LayerInfo info = {.description = "the fastest of the other layers for this work, by measurement",
                                 .cells = all_cells(),
                                 .processors = {Processor::kCpu, Processor::kGpu}};
  return info;
}

std::vector<LayerKind> layer_kinds() {
  std::vector<LayerKind> kinds;
  for (const auto& [kind, name] : config::EnumNames<LayerKind>::kNames)
    if (kind != LayerKind::kAuto) kinds.push_back(kind);
  return kinds;
}

bool has_cell(LayerKind kind, Cell cell) { return std::ranges::count(info_of(kind).cells, cell) > 0; }

bool runs_on(LayerKind kind, Processor processor) {
  return std::ranges::count(info_of(kind).processors, processor) > 0;
}

namespace {

// Returns what no kind supports, because the cell does not read the option, or because of the option's value.
std::optional<std::string> contradiction(const RecurrentOptions& options) {
  const std::vector<UnreadOption> unread = unread_options(options);
  const std::string fault = cell_fault(options);
  if (unread.empty()) return fault.empty() ? std::nullopt : std::optional(fault);
  const auto& [key, value, message] = unread.front();
  return fmt::format("{}: {} means nothing with cell: {}; {}", key, value, name_of(options.cell), message);
}

// Returns the predicate of a sentence whose subject is the layer.
std::optional<std::string> unsupported(LayerKind kind, const RecurrentOptions& options) {
  if (!has_cell(kind, options.cell)) return fmt::format("has no cell: {}", name_of(options.cell));
  const auto unsupported_option = info_of(kind).unsupported_option;
  if (unsupported_option == nullptr) return std::nullopt;
  const auto option = unsupported_option(options);
  return option ? std::optional("cannot do " + *option) : std::nullopt;
}

std::string kinds_that_can(const RecurrentOptions& options) {
  std::vector<std::string> names;
  for (const LayerKind kind : layer_kinds())
    if (!unsupported(kind, options)) names.emplace_back(name_of(kind));
  return join_with_or(names);
}

}  // namespace

std::optional<std::string> unsupported_reason(LayerKind kind, const RecurrentOptions& options) {
  if (const auto reason = contradiction(options)) return reason;
  const auto reason = unsupported(kind, options);
  if (!reason) return std::nullopt;
  return fmt::format("layer: {} {}; use layer: {}", name_of(kind), *reason, kinds_that_can(options));
}

std::optional<std::string> unsupported_reason(LayerKind kind, Processor processor) {
  if (runs_on(kind, processor)) return std::nullopt;
  return fmt::format("layer: {} {}", name_of(kind), info_of(kind).other_processor);
}

std::optional<std::string> unsupported_reason(LayerKind kind, const RecurrentOptions& options, Precision precision) {
  const auto unsupported_precision = info_of(kind).unsupported_precision;
  if (unsupported_precision == nullptr) return std::nullopt;
  const auto reason = unsupported_precision(options, precision);
  return reason ? std::optional(fmt::format("layer: {} {}", name_of(kind), *reason)) : std::nullopt;
}

std::optional<std::string> unsupported_by_library(std::string_view library, const RecurrentOptions& options) {
  if (options.activation != Activation::kTanh)
    return fmt::format("activation: {} ({}'s {} has tanh only)", name_of(options.activation), library,
                       name_of(options.cell));
  if (options.reset_gate == ResetGate::kBefore)
    return fmt::format("reset_gate: before ({}'s gru applies the reset gate after the recurrent product)", library);
  return std::nullopt;
}

}  // namespace rnnlab
