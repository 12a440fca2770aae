// The ladder of Appleyard, Kocisky and Blunsom 2016 (arXiv 1604.01946) as switches: each rung does what the one before
// it does, and one thing more, but `hoisted`, which has nothing left to run on a second stream, `blocked`, its form for
// the CPU, and `persistent`, its form for Hopper GPUs. All take the gates' products as one (the first rung, `grouped`).
#pragma once

#include "recurrent/kernels/persistent/persistent_layer.h"
#include "recurrent/layer_kind.h"

namespace rnnlab {

// How many steps share one product of the inputs.
enum class InputProducts { kOneStep, kGroupOfSteps, kAllSteps };

struct Rung {
  bool two_lanes = false;        // the inputs' products on a stream of their own
  bool fused_pointwise = false;  // one kernel for all of a step but its products
  bool pretransposed = false;    // transposed weights for the backward pass, made once a pass
  bool layers_side_by_side = false;
  bool shares_diagonals = false;    // one product and one kernel for all layers on a diagonal, where it can
  bool panel_products = false;      // on the CPU, by blocked/blocked_pass.h where it can
  bool one_kernel = false;          // many steps of a layer in one, by persistent/persistent_pass.h
  bool parts_side_by_side = false;  // of one_kernel: layers, a part of the steps each (layer_parts.h)
  kernels::PersistentKernels kernels = kernels::PersistentKernels::kAll;  // of one_kernel
  InputProducts input_products = InputProducts::kOneStep;
};

constexpr kernels::PersistentKernels persistent_kernels(LayerKind kind) {
  if (kind == LayerKind::kPersistentClusters) return kernels::PersistentKernels::kClusters;
  if (kind == LayerKind::kPersistentTeams) return kernels::PersistentKernels::kClustersAndTeams;
  return kernels::PersistentKernels::kAll;
}

constexpr Rung rung_of(LayerKind kind) {
  Rung rung;
  rung.two_lanes = kind == LayerKind::kStreamed || kind == LayerKind::kFusedPointwise ||
                   kind == LayerKind::kPretransposed || kind == LayerKind::kWavefront || kind == LayerKind::kDiagonal;
  rung.fused_pointwise = kind != LayerKind::kGrouped && kind != LayerKind::kStreamed;
  rung.pretransposed = rung.fused_pointwise && kind != LayerKind::kFusedPointwise;
  rung.layers_side_by_side = kind == LayerKind::kWavefront || kind == LayerKind::kDiagonal;
  rung.shares_diagonals = kind == LayerKind::kDiagonal;
  rung.panel_products = kind == LayerKind::kBlocked;
  rung.one_kernel = is_persistent(kind);
  rung.kernels = persistent_kernels(kind);
  rung.parts_side_by_side = kind == LayerKind::kPersistent;
  if (kind == LayerKind::kHoisted || kind == LayerKind::kBlocked || rung.one_kernel)
    rung.input_products = InputProducts::kAllSteps;
  if (rung.layers_side_by_side) rung.input_products = InputProducts::kGroupOfSteps;
  return rung;
}

}  // namespace rnnlab
