// Implements `naive`: the plain loop over steps, with one small GEMM for every gate and side, and a separate operation
// for every point-wise operation. It is written for readers and as the baseline; nothing is grouped, hoisted or fused.
// It supports every cell and every option.
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
