#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "recurrent/recurrent_options.h"

namespace rnnlab {
namespace {

using config::name_of;

// What no kind can do, for it means nothing.
std::optional<std::string> contradiction(const RecurrentOptions& options) {
  const bool is_plain = options.cell == Cell::kRnnTanh || options.cell == Cell::kRnnRelu;
  if (options.reset_gate == ResetGate::kBefore && options.cell != Cell::kGru)
    return fmt::format("reset_gate: before means nothing with cell: {}, which has no reset gate; use cell: gru",
                       name_of(options.cell));
  if (options.activation != Activation::kTanh && is_plain)
    return fmt::format(
        "activation: {} means nothing with cell: {}, whose name holds its activation; use cell: rnn_relu",
        name_of(options.activation), name_of(options.cell));
  return std::nullopt;
}

std::optional<std::string> unsupported_by_fused(const RecurrentOptions& options) {
  if (options.activation != Activation::kTanh)
    return fmt::format("activation: {} (LibTorch's {} has tanh only)", name_of(options.activation),
                       name_of(options.cell));
  if (options.reset_gate == ResetGate::kBefore)
    return "reset_gate: before (LibTorch's gru applies the reset gate after the recurrent product)";
  return std::nullopt;
}

std::optional<std::string> unsupported(LayerKind kind, const RecurrentOptions& options) {
  switch (kind) {
    case LayerKind::kNaive:
      return std::nullopt;
    case LayerKind::kFused:
      return unsupported_by_fused(options);
  }
  RNNLAB_INVARIANT(false, "a layer kind that refusal does not know");
  return std::nullopt;
}

std::string kinds_that_can(const RecurrentOptions& options) {
  std::vector<std::string> names;
  for (const LayerKind kind : layer_kinds())
    if (!unsupported(kind, options)) names.emplace_back(name_of(kind));
  return one_of(names);
}

}  // namespace

std::vector<LayerKind> layer_kinds() {
  std::vector<LayerKind> kinds;
  for (const auto& [kind, name] : config::EnumNames<LayerKind>::kNames) kinds.push_back(kind);
  return kinds;
}

std::optional<std::string> refusal(LayerKind kind, const RecurrentOptions& options) {
  if (const auto reason = contradiction(options)) return reason;
  const auto reason = unsupported(kind, options);
  if (!reason) return std::nullopt;
  return fmt::format("layer: {} cannot do {}; use layer: {}", name_of(kind), *reason, kinds_that_can(options));
}

}  // namespace rnnlab
