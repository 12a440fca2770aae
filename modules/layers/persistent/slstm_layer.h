// SPDX-License-Identifier: Apache-2.0
// Implements `layer: persistent` for cell: slstm. One product for the inputs of all steps, then one kernel for all
// steps of a direction (slstm_pass.h). Layers and directions run one after another. Parameters and results are those of
// `layer: naive`. Second derivatives are not supported.
#pragma once

#include "layers/stacked_layer.h"

namespace rnnlab {

class PersistentSlstm : public StackedLayer {
 public:
  explicit PersistentSlstm(const RecurrentOptions& options) : StackedLayer(options) {}

  LayerKind kind() const override { return LayerKind::kPersistent; }

 private:
  DirectionResult run_direction(const DirectionInput& input, CellWeights weights) override;
};

}  // namespace rnnlab
