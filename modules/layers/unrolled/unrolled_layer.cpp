// SPDX-License-Identifier: Apache-2.0
#include "layers/unrolled/unrolled_layer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <c10/core/GradMode.h>

#include "layers/cuda_functions.h"
#include "layers/device/gpu_support.h"
#include "layers/device/number_types.h"
#include "layers/dropout.h"
#include "layers/unrolled/passes.h"

namespace rnnlab {
namespace {

at::Tensor widened(const at::Tensor& index, const at::Tensor& sequence) {
  return index.expand({index.size(0), index.size(1), sequence.size(2)});
}

}  // namespace

SequenceEnds::SequenceEnds(const at::Tensor& lengths, int64_t num_steps, at::Device device) {
  if (!lengths.defined()) return;
  const at::Tensor steps = at::arange(num_steps).view({num_steps, 1, 1});
  const at::Tensor ends = lengths.view({1, -1, 1});
  const at::Tensor alive = steps.lt(ends);
  alive_ = alive.to(device);
  reversal_ = at::where(alive, ends - 1 - steps, steps).to(device);
  last_ = (ends - 1).to(device);
}

at::Tensor SequenceEnds::cleared(const at::Tensor& sequence) const {
  return all_whole() ? sequence : at::where(alive_, sequence, 0);
}

at::Tensor SequenceEnds::reversed(const at::Tensor& sequence) const {
  return all_whole() ? sequence.flip(0) : sequence.gather(0, widened(reversal_, sequence));
}

at::Tensor SequenceEnds::last(const at::Tensor& sequence) const {
  return all_whole() ? sequence[-1] : sequence.gather(0, widened(last_, sequence))[0];
}

namespace {

// Returns the layers first_layer ... of a state (L * D, B, H), only those of one direction.
at::Tensor states_of(const at::Tensor& all, int64_t first_layer, int64_t num_layers, int64_t num_directions,
                     Direction direction) {
  if (!all.defined()) return all;
  const int64_t offset = direction == Direction::kForward ? 0 : 1;
  return all.narrow(0, first_layer * num_directions, num_layers * num_directions)
      .slice(0, offset, std::nullopt, num_directions);
}

// Returns (L, B, H), the states after each layer's last step. If every sequence is whole, a reverse direction ends at
// its first position.
at::Tensor last_states(const std::vector<at::Tensor>& layers, const SequenceEnds& lengths, Direction direction) {
  std::vector<at::Tensor> last;
  for (const at::Tensor& states : layers)
    last.push_back(direction == Direction::kForward ? lengths.last(states) : states[0]);
  return at::stack(last);
}

RecurrentState final_states(const UnrolledResult& result, const SequenceEnds& lengths, Direction direction) {
  if (result.final_hidden.defined() && lengths.all_whole()) return {result.final_hidden, result.final_cell};
  const bool has_cell = !result.cell.empty();
  return {last_states(result.hidden, lengths, direction),
          has_cell ? last_states(result.cell, lengths, direction) : at::Tensor()};
}

// Returns the states of all blocks as one tensor; often there is only one block.
at::Tensor joined(const std::vector<at::Tensor>& blocks) {
  if (blocks.empty()) return {};
  return blocks.size() == 1 ? blocks[0] : at::cat(blocks);
}

}  // namespace

// persistent_pass() is defined only if there is a GPU.
void require_persistent_on_gpu(LayerKind kind, const at::Tensor& sequence, const RecurrentOptions& options) {
  const bool is_fp32 = sequence.scalar_type() == at::kFloat && !rounds_to_tf32();  // which has the fewest sizes
  require_supported(kind, {.options = options,
                           .precision = is_fp32 ? std::optional(Precision::kFp32) : std::nullopt,
                           .processor = processor_of(sequence.device())});
  persistent_pass().require(sequence);
}

UnrolledLayer::UnrolledLayer(const UnrolledVariant& variant, const RecurrentOptions& options)
    : RecurrentLayer(options), variant_(variant) {}

std::vector<UnrolledLayer::Block> UnrolledLayer::blocks() const {
  if (variant_.pipelines_layers || (variant_.is_persistent && !options().bidirectional))
    return {{0, options().num_layers}};
  std::vector<Block> blocks;
  for (int64_t layer = 0; layer < options().num_layers; ++layer) blocks.push_back({layer, 1});
  return blocks;
}

RecurrentResult UnrolledLayer::run(const at::Tensor& input, const RecurrentState& initial, const at::Tensor& lengths) {
  const SequenceEnds ends(lengths, input.size(0), input.device());
  at::Tensor sequence = in_product_type(input);
  if (variant_.is_persistent) require_persistent_on_gpu(kind(), sequence, options());
  std::vector<at::Tensor> hidden, cell;
  for (const Block& block : blocks()) {
    if (block.first_layer > 0 && options().dropout > 0 && is_training())
      sequence = apply_dropout(sequence, options().dropout);
    const RecurrentResult result = run_block(block, ends.cleared(sequence), initial, ends);
    sequence = result.output;
    hidden.push_back(result.state.hidden);
    if (has_cell_state(options().cell)) cell.push_back(result.state.cell());
  }
  return {ends.cleared(sequence), {joined(hidden), joined(cell)}};
}

bool UnrolledLayer::has_own_final_states() const { return variant_.is_persistent; }
bool UnrolledLayer::begins_without_states() const { return variant_.is_persistent; }

// If a table has at most as many rows as columns, products with the places of its tokens take less work than products
// with the input.
bool UnrolledLayer::reads_tokens(const at::Tensor& table, int64_t num_tokens) const {
  const bool are_float = table.scalar_type() == at::kFloat && weights().front().scalar_type() == at::kFloat;
  return variant_.is_persistent && !options().bidirectional && are_float && table.size(0) <= table.size(1) &&
         gains_by_one_hot(table.size(0), num_tokens);
}

RecurrentResult UnrolledLayer::run_tokens(const at::Tensor& table, const at::Tensor& tokens,
                                          const RecurrentState& initial) {
  const at::TensorOptions type_of_products = table.options().dtype(product_type(table));
  require_persistent_on_gpu(kind(), at::empty({0}, type_of_products), options());
  const SequenceEnds all_whole({}, tokens.size(0), tokens.device());
  return run_direction(blocks().front(), Direction::kForward, {table, tokens}, initial, all_whole);
}

RecurrentResult UnrolledLayer::run_block(const Block& block, const at::Tensor& sequence, const RecurrentState& initial,
                                         const SequenceEnds& lengths) {
  RecurrentResult forward = run_direction(block, Direction::kForward, {sequence}, initial, lengths);
  if (!options().bidirectional) return forward;
  const RecurrentResult reverse = run_direction(block, Direction::kReverse, {sequence}, initial, lengths);
  const auto both = [](const at::Tensor& a, const at::Tensor& b) { return a.defined() ? at::cat({a, b}) : a; };
  return {at::cat({forward.output, reverse.output}, 2),
          {both(forward.state.hidden, reverse.state.hidden), both(forward.state.cell(), reverse.state.cell())}};
}

RecurrentResult UnrolledLayer::run_direction(const Block& block, Direction direction, const Sequence& sequence,
                                             const RecurrentState& initial, const SequenceEnds& lengths) {
  // A sequence that ends early is read in reverse from its own last step, so a reversed copy of it runs forward.
  const bool runs_reversed_copy = direction == Direction::kReverse && !lengths.all_whole();
  const Direction loop = runs_reversed_copy ? Direction::kForward : direction;
  UnrolledSpec spec = {options().cell, options().activation, loop, variant_};
  spec.type = sequence.tokens.defined() ? product_type(sequence.rows) : sequence.rows.scalar_type();
  spec.num_layers = block.num_layers;
  if (spec.variant.is_persistent && is_training()) spec.dropout = options().dropout;
  if (!rounds_to_tf32()) spec.operands = kernels::Operands::kFloat32;
  if (c10::GradMode::is_enabled()) spec.gradients = GradientUse::kPossible;
  const int64_t num_directions = options().num_directions();
  const auto states = [&](const at::Tensor& all) {
    return states_of(all, block.first_layer, block.num_layers, num_directions, direction);
  };

  UnrolledInput input = {.sequence = runs_reversed_copy ? lengths.reversed(sequence.rows) : sequence.rows,
                         .tokens = sequence.tokens,
                         .hidden = states(initial.hidden),
                         .cell = states(initial.cell()),
                         .layers = {},
                         .masks = {}};
  if (!spec.variant.is_persistent) input.masks = dropout_masks(block, sequence.rows);
  if (input.hidden.defined()) input.hidden = input.hidden.to(spec.type);
  if (input.cell.defined()) input.cell = input.cell.to(accumulation_type(spec.type));
  for (int64_t layer = block.first_layer; layer < block.first_layer + block.num_layers; ++layer) {
    const auto index = static_cast<size_t>(layer * num_directions + (direction == Direction::kForward ? 0 : 1));
    input.layers.push_back(spec.variant.is_persistent ? parameters_of(weights(), index)
                                                      : direction_weights(weights(), index));
  }
  spec.parameter_type = input.layers.front().weight_ih.scalar_type();
  if (spec.variant.is_persistent && gradient_sink() != nullptr) {
    spec.gradient_sink = gradient_sink();
    spec.parameters = input.layers;
  }

  const UnrolledResult result = run_unrolled(spec, input);
  const at::Tensor& output = result.hidden.back();
  RecurrentState state = final_states(result, lengths, loop);
  const at::ScalarType cell_type = initial.cell().defined() ? initial.cell().scalar_type() : spec.parameter_type;
  for (at::Tensor& inner : state.inner) inner = inner.to(cell_type);
  return {runs_reversed_copy ? lengths.reversed(output) : output, state};
}

std::vector<at::Tensor> UnrolledLayer::dropout_masks(const Block& block, const at::Tensor& sequence) const {
  std::vector<at::Tensor> masks;
  if (options().dropout == 0 || !is_training()) return masks;
  const at::Tensor ones = at::ones({sequence.size(0), sequence.size(1), options().hidden_size}, sequence.options());
  for (int64_t layer = 1; layer < block.num_layers; ++layer) masks.push_back(apply_dropout(ones, options().dropout));
  return masks;
}

}  // namespace rnnlab
