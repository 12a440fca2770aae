// SPDX-License-Identifier: Apache-2.0
// Implements the layers from `grouped` to `persistent`, which run their own loop over steps and their own
// back-propagation through time. A variant (trace.h) states their optimisations. Weights and results are those of every
// other layer. reset_gate: before and second derivatives are not supported.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layers/recurrent_layer.h"
#include "layers/unrolled/trace.h"

namespace rnnlab {

// Handles sequences of different lengths for layers that only run whole sequences from the first step to the last.
// Values beyond a length are cleared, a reverse direction reads a reversed copy, and the final states are selected
// afterwards. All functions are differentiable.
class SequenceEnds {
 public:
  // lengths: (B) int64 on the CPU; undefined means that every sequence is whole.
  SequenceEnds(const at::Tensor& lengths, int64_t num_steps, at::Device device);

  bool all_whole() const { return !alive_.defined(); }

  // Returns (T, B, N) with zeros beyond each length.
  at::Tensor cleared(const at::Tensor& sequence) const;

  // Returns (T, B, N) with each sequence's own steps in reverse order; the function is its own inverse.
  at::Tensor reversed(const at::Tensor& sequence) const;

  // Returns (B, N), the last step of each sequence.
  at::Tensor last(const at::Tensor& sequence) const;

 private:
  at::Tensor alive_;     // (T, B, 1) bool
  at::Tensor reversal_;  // (T, B, 1) int64
  at::Tensor last_;      // (1, B, 1) int64
};

// Throws UserError kUsage, or kDevice, if a persistent layer of this kind cannot run (persistent/persistent_pass.h).
void require_persistent_on_gpu(LayerKind kind, const at::Tensor& sequence, const RecurrentOptions& options);

class UnrolledLayer : public RecurrentLayer {
 public:
  // options: supported by the record of the variant's kind.
  UnrolledLayer(const UnrolledVariant& variant, const RecurrentOptions& options);

  LayerKind kind() const override { return variant_.kind; }
  bool has_own_final_states() const override;

 private:
  // The layers that run as one stack: all layers, or one layer after another.
  struct Block {
    int64_t first_layer, num_layers;
  };

  // Holds the input of a direction: (T, B, I), or rows of a table (V, I) by tokens (T, B).
  struct Sequence {
    at::Tensor rows;
    at::Tensor tokens = {};
  };

  RecurrentResult run(const at::Tensor& input, const RecurrentState& initial, const at::Tensor& lengths) override;
  bool begins_without_states() const override;
  bool reads_tokens(const at::Tensor& table, int64_t num_tokens) const override;
  RecurrentResult run_tokens(const at::Tensor& table, const at::Tensor& tokens, const RecurrentState& initial) override;
  std::vector<Block> blocks() const;
  RecurrentResult run_block(const Block& block, const at::Tensor& sequence, const RecurrentState& initial,
                            const SequenceEnds& lengths);
  RecurrentResult run_direction(const Block& block, Direction direction, const Sequence& sequence,
                                const RecurrentState& initial, const SequenceEnds& lengths);
  std::vector<at::Tensor> dropout_masks(const Block& block, const at::Tensor& sequence) const;

  UnrolledVariant variant_;
};

// The variants in the order of Appleyard, Kocisky and Blunsom 2016 (arXiv 1604.01946). Each adds one optimisation to
// the variant before, except that `hoisted` has nothing left to run on a second stream. unrolled_layers.cpp has the
// layers' records. blocked/ and persistent/ have forms of `hoisted` for the CPU and for Hopper GPUs.
inline constexpr UnrolledVariant kGroupedVariant = {.kind = LayerKind::kGrouped};
inline constexpr UnrolledVariant kStreamedVariant = {.kind = LayerKind::kStreamed, .uses_two_streams = true};
inline constexpr UnrolledVariant kFusedPointwiseVariant = {
    .kind = LayerKind::kFusedPointwise, .uses_two_streams = true, .fuses_pointwise = true};
inline constexpr UnrolledVariant kPretransposedVariant = {
    .kind = LayerKind::kPretransposed, .uses_two_streams = true, .fuses_pointwise = true, .pretransposes = true};
inline constexpr UnrolledVariant kHoistedVariant = {.kind = LayerKind::kHoisted,
                                                    .fuses_pointwise = true,
                                                    .pretransposes = true,
                                                    .input_products = InputProducts::kAllSteps};
inline constexpr UnrolledVariant kWavefrontVariant = {.kind = LayerKind::kWavefront,
                                                      .uses_two_streams = true,
                                                      .fuses_pointwise = true,
                                                      .pretransposes = true,
                                                      .input_products = InputProducts::kGroupOfSteps,
                                                      .pipelines_layers = true};
inline constexpr UnrolledVariant kDiagonalVariant = {.kind = LayerKind::kDiagonal,
                                                     .uses_two_streams = true,
                                                     .fuses_pointwise = true,
                                                     .pretransposes = true,
                                                     .input_products = InputProducts::kGroupOfSteps,
                                                     .pipelines_layers = true,
                                                     .shares_diagonals = true};

// Implements LayerInfo::make for a variant.
template <const UnrolledVariant& variant>
std::shared_ptr<RecurrentLayer> make_unrolled(const RecurrentOptions& options) {
  return std::make_shared<UnrolledLayer>(variant, options);
}

}  // namespace rnnlab
