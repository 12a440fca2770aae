// SPDX-License-Identifier: Apache-2.0
// Implements the layers from `grouped` to `blocked`, which run their own loop over steps and their own back-propagation
// through time. A variant (trace.h) states their optimisations. Weights and results are those of every other layer.
// Second derivatives are not supported.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layers/recurrent_layer.h"
#include "layers/unrolled/passes.h"

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

// Runs the layers of a stack in blocks, which are all layers or one layer after another, in one direction or both.
class LayersInBlocks : public RecurrentLayer {
 public:
  explicit LayersInBlocks(const RecurrentOptions& options)
      : RecurrentLayer(options), program_(program_of(options)), code_(step_code_of(program_)) {}

 protected:
  const CellProgram& program() const { return program_; }
  const StepCode& code() const { return code_; }

  // A block whose weights and states are those of `direction`, and which reads its sequence in `order`: forward, if the
  // sequence is a reversed copy.
  struct Loop {
    int64_t first_layer, num_layers;
    Direction direction = Direction::kForward, order = Direction::kForward;
    StatesOf states = StatesOf::kLastStep;
  };

  virtual bool is_one_block() const = 0;

  // sequence: (T, B, I), zero beyond each length. starts: (T, B, 1) bool, in the loop's order, or undefined.
  virtual RecurrentResult run_loop(const Loop& loop, const at::Tensor& sequence, const RecurrentState& initial,
                                   const SequenceEnds& lengths, const at::Tensor& starts) = 0;

  // Returns the sequence, and the loop's initial states and weights, which `weights_at` returns by their index. States
  // that are not given are undefined. `type`: of the states.
  UnrolledInput input_of(const Loop& loop, at::ScalarType type, const at::Tensor& sequence,
                         const RecurrentState& initial, decltype(parameters_of)* weights_at) const;

  // Returns (L, B, H), the states after each layer's last step. If every sequence is whole, a reverse order ends at its
  // first position.
  static at::Tensor last_states(const std::vector<at::Tensor>& layers, const SequenceEnds& lengths, Direction order);

  // Returns the output of the top layer, and the states in the types of initial states. `states`: of each layer after
  // each step.
  RecurrentResult result_of(const Loop& loop, const UnrolledResult& states, RecurrentState final,
                            const RecurrentState& initial) const;

 private:
  RecurrentResult run(const at::Tensor& input, const RecurrentState& initial, const Segments& segments,
                      StatesOf states) override;
  RecurrentResult run_block(Loop loop, const at::Tensor& sequence, const RecurrentState& initial,
                            const SequenceEnds& lengths, const std::array<at::Tensor, 2>& starts);

  const CellProgram& program_;
  const StepCode& code_;
};

// Returns the number of the program, which has step code, among those that the build has compiled, or kInterpreted.
inline int compiled_number(const CellProgram& program) {
  return kernels::compiled_program(program.hash, step_code_of(program).columns);
}

// Returns why a GPU cannot run the kernels of a cell's program: NVRTC compiles those that the build has not compiled
// for the GPU, and is missing. For LayerInfo::size_limit.
std::optional<Refusal> refusal_without_nvrtc(const RecurrentOptions& options, const LayerWork& work);

class UnrolledLayer : public LayersInBlocks {
 public:
  // options: supported by the record of the variant's kind.
  UnrolledLayer(const UnrolledVariant& variant, const RecurrentOptions& options)
      : LayersInBlocks(options), variant_(variant), compiled_(compiled_number(program())) {}

  LayerKind kind() const override { return variant_.kind; }

 private:
  bool is_one_block() const override { return variant_.pipelines_layers; }
  RecurrentResult run_loop(const Loop& loop, const at::Tensor& sequence, const RecurrentState& initial,
                           const SequenceEnds& lengths, const at::Tensor& starts) override;
  std::vector<at::Tensor> dropout_masks(int64_t num_layers, const at::Tensor& sequence) const;

  UnrolledVariant variant_;
  int compiled_;  // the number of the program, if the build has compiled it
};

// The variants in the order of Appleyard, Kocisky and Blunsom 2016 (arXiv 1604.01946). Each adds one optimisation to
// the variant before, except that `hoisted` has nothing left to run on a second stream. unrolled_layers.cpp has the
// layers' records. blocked/ has a form of `hoisted` for the CPU.
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
