// Lists the implementations of a recurrent layer and what each of them cannot do. They differ only in how they compute:
// every kind gives the same results except for rounding. Plain values without LibTorch; recurrent_layer.h makes the
// layers.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/enum_names.h"
#include "recurrent/recurrent_options.h"

namespace rnnlab {

enum class LayerKind {
  kNaive,
  kGrouped,
  kStreamed,
  kFusedPointwise,
  kPretransposed,
  kHoisted,
  kBlocked,
  kWavefront,
  kDiagonal,
  kPersistentClusters,
  kPersistentTeams,
  kPersistent,
  kScan,
  kFused,
  kCudnn,
  kAuto,  // a placeholder: it is resolved to another kind before a layer is made
};

// Holds a layer kind and its kind-specific options, which affect speed, never results.
struct LayerChoice {
  LayerKind kind;
  CudnnAlgorithm cudnn_algorithm = CudnnAlgorithm::kAuto;

  // A kind converts to a choice with default options.
  LayerChoice(LayerKind layer_kind, CudnnAlgorithm algorithm = CudnnAlgorithm::kAuto)
      : kind(layer_kind), cudnn_algorithm(algorithm) {}
};

enum class Processor { kCpu, kGpu };

// Returns whether the kind is `persistent` or one of its earlier rungs.
constexpr bool is_persistent(LayerKind kind) {
  return kind == LayerKind::kPersistentClusters || kind == LayerKind::kPersistentTeams ||
         kind == LayerKind::kPersistent;
}

// Returns every kind but kAuto, in the order of config::EnumNames<LayerKind>.
std::vector<LayerKind> layer_kinds();

// Returns a line that describes for people how the kind computes.
std::string_view description_of(LayerKind kind);

// Returns the cells of `kind`, in the order of config::EnumNames<Cell>. `naive` has all cells; each other kind lists
// its cells.
std::vector<Cell> cells_of(LayerKind kind);

// Returns why `kind` cannot compute `options`, with the option and the kinds that can; nothing if it can. Every kind
// runs float32, float64, bfloat16 and float16 if its processor does, except that persistent does not have float64.
std::optional<std::string> refusal(LayerKind kind, const RecurrentOptions& options);

// Returns why `kind` does not run on this processor; nothing if it does.
std::optional<std::string> refusal(LayerKind kind, Processor processor);

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::LayerKind> {
  static constexpr std::array<std::pair<LayerKind, std::string_view>, 16> kNames = {{
      {LayerKind::kNaive, "naive"},
      {LayerKind::kGrouped, "grouped"},
      {LayerKind::kStreamed, "streamed"},
      {LayerKind::kFusedPointwise, "fused_pointwise"},
      {LayerKind::kPretransposed, "pretransposed"},
      {LayerKind::kHoisted, "hoisted"},
      {LayerKind::kBlocked, "blocked"},
      {LayerKind::kWavefront, "wavefront"},
      {LayerKind::kDiagonal, "diagonal"},
      {LayerKind::kPersistentClusters, "persistent_clusters"},
      {LayerKind::kPersistentTeams, "persistent_teams"},
      {LayerKind::kPersistent, "persistent"},
      {LayerKind::kScan, "scan"},
      {LayerKind::kFused, "fused"},
      {LayerKind::kCudnn, "cudnn"},
      {LayerKind::kAuto, "auto"},
  }};
};
