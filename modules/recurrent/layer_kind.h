// The implementations of a recurrent layer and what each cannot do. They differ only in how they compute: every kind
// gives the same results, to rounding. Plain values without LibTorch; recurrent_layer.h makes the layers.
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

// A kind with what only that kind is asked about: everything that an experiment says about how, never what.
struct LayerChoice {
  LayerKind kind;
  CudnnAlgorithm cudnn_algorithm = CudnnAlgorithm::kAuto;

  // A kind alone is a choice.
  LayerChoice(LayerKind layer_kind, CudnnAlgorithm algorithm = CudnnAlgorithm::kAuto)
      : kind(layer_kind), cudnn_algorithm(algorithm) {}
};

enum class Processor { kCpu, kGpu };

// `persistent` and its rungs.
constexpr bool is_persistent(LayerKind kind) {
  return kind == LayerKind::kPersistentClusters || kind == LayerKind::kPersistentTeams ||
         kind == LayerKind::kPersistent;
}

// Every kind but kAuto, in the order of config::EnumNames<LayerKind>.
std::vector<LayerKind> layer_kinds();

// How it computes, in a line for people.
std::string_view description_of(LayerKind kind);

// The cells that `kind` has, in the order of config::EnumNames<Cell>: all for naive, for the others those that they
// list.
std::vector<Cell> cells_of(LayerKind kind);

// Why `kind` cannot compute `options`, naming the option and the kinds that can; nothing where it can. Every kind runs
// float32, float64, bfloat16 and float16 where its processor does; persistent has no float64.
std::optional<std::string> refusal(LayerKind kind, const RecurrentOptions& options);

// Why `kind` does not run there; nothing where it does.
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
