// SPDX-License-Identifier: Apache-2.0
// Implements the persistent layers for cell: slstm. One product for the inputs of all steps, then one kernel for all
// steps of a direction (slstm_pass.h). Layers and directions run one after another. Parameters and results are those of
// `layer: naive`. Second derivatives are not supported.
#pragma once

#include "layers/stacked_layer.h"

namespace rnnlab {

class PersistentSlstm : public StackedLayer {
 public:
  // kind: a persistent layer that has kernels of one block.
  PersistentSlstm(LayerKind kind, const RecurrentOptions& options) : StackedLayer(options), kind_(kind) {}

  LayerKind kind() const override { return kind_; }

 private:
  DirectionResult run_direction(const DirectionInput& input, CellWeights weights) override;

  LayerKind kind_;
};

}  // namespace rnnlab
