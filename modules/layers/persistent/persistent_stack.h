// SPDX-License-Identifier: Apache-2.0
// Implements `layer: persistent` for every cell but sLSTM: one kernel for many steps of a layer, of a pair of
// layers or of a part of a layer's steps (persistent_pass.h). Weights and results are those of every other layer.
// Second derivatives are not supported. slstm_layer.h is for cell: slstm.
#pragma once

#include "layers/unrolled/unrolled_layer.h"

namespace rnnlab {

// Throws UserError kUsage, or kDevice, if the layer cannot run (persistent_pass.h). `type`: of products.
void require_persistent_on_gpu(at::Device device, at::ScalarType type, const RecurrentOptions& options);

class PersistentStack : public LayersInBlocks {
 public:
  using LayersInBlocks::LayersInBlocks;

  LayerKind kind() const override { return LayerKind::kPersistent; }
  bool has_own_final_states() const override { return true; }

 private:
  bool begins_without_states() const override { return true; }
  bool reads_tokens(const at::Tensor& table, int64_t num_tokens) const override;
  RecurrentResult run_tokens(const at::Tensor& table, const at::Tensor& tokens, const RecurrentState& initial) override;
  bool is_one_block() const override { return !options().bidirectional; }
  RecurrentResult run_loop(const Loop& loop, const at::Tensor& sequence, const RecurrentState& initial,
                           const SequenceEnds& lengths, const at::Tensor& starts) override;
  RecurrentResult run_pass(const Loop& loop, const at::Tensor& rows, const at::Tensor& tokens,
                           const RecurrentState& initial, const SequenceEnds& lengths,
                           const at::Tensor& starts = {}) const;
};

}  // namespace rnnlab
