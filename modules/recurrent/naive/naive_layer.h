// `naive`: the plain loop over steps, one small GEMM for every gate and side, every point-wise operation an operation
// of its own. Written to be read and to be the base line; nothing is grouped, hoisted or fused. Does every cell and
// every option.
#pragma once

#include "recurrent/stacked_layer.h"

namespace rnnlab {

class NaiveLayer : public StackedLayer {
 public:
  explicit NaiveLayer(const RecurrentOptions& options) : StackedLayer(options) {}
  LayerKind kind() const override { return LayerKind::kNaive; }

 private:
  DirectionResult run_direction(const DirectionInput& input, CellWeights weights) override;
};

}  // namespace rnnlab
