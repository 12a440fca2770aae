// SPDX-License-Identifier: Apache-2.0
#include "layers/unrolled/unrolled_layer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include "layers/dropout.h"

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
  const at::Tensor alive = steps_within(lengths, num_steps);
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

// Returns the states of all blocks as one tensor; often there is only one block.
at::Tensor joined(const std::vector<at::Tensor>& blocks) {
  if (blocks.empty()) return {};
  return blocks.size() == 1 ? blocks[0] : at::cat(blocks);
}

}  // namespace

RecurrentResult LayersInBlocks::run(const at::Tensor& input, const RecurrentState& initial, const Segments& segments,
                                    StatesOf states) {
  const SequenceEnds ends(segments.lengths, input.size(0), input.device());
  const auto starts = starts_by_direction(segments, options().num_directions());
  at::Tensor sequence = in_product_type(input);
  std::vector<at::Tensor> hidden;
  const size_t num_states = info_of(options().cell).states.size();
  std::vector<std::vector<at::Tensor>> inner(num_states - 1), all(states == StatesOf::kEveryStep ? num_states : 0);
  const int64_t num_layers = options().num_layers, size = is_one_block() ? num_layers : 1;
  for (int64_t first = 0; first < num_layers; first += size) {
    if (first > 0 && options().dropout > 0 && is_training()) sequence = apply_dropout(sequence, options().dropout);
    const Loop loop = {.first_layer = first, .num_layers = size, .states = states};
    const RecurrentResult result = run_block(loop, ends.cleared(sequence), initial, ends, starts);
    sequence = result.output;
    hidden.push_back(result.state.hidden);
    for (size_t i = 0; i < inner.size(); ++i) inner[i].push_back(result.state.inner[i]);
    for (size_t i = 0; i < all.size(); ++i) all[i].push_back(result.all_states[i]);
  }
  RecurrentState final = {joined(hidden)};
  for (const std::vector<at::Tensor>& blocks : inner) final.inner.push_back(joined(blocks));
  RecurrentResult result = {ends.cleared(sequence), std::move(final)};
  for (const std::vector<at::Tensor>& blocks : all) result.all_states.push_back(ends.cleared(joined(blocks)));
  return result;
}

RecurrentResult LayersInBlocks::run_block(Loop loop, const at::Tensor& sequence, const RecurrentState& initial,
                                          const SequenceEnds& lengths, const std::array<at::Tensor, 2>& starts) {
  RecurrentResult forward = run_loop(loop, sequence, initial, lengths, starts[0]);
  if (!options().bidirectional) return forward;
  // A sequence that ends early is read in reverse from its own last step, so a reversed copy of it runs forward.
  const bool runs_copy = !lengths.all_whole();
  loop.direction = Direction::kReverse;
  loop.order = runs_copy ? Direction::kForward : Direction::kReverse;
  const auto in_order = [&](const at::Tensor& steps) {
    return runs_copy && steps.defined() ? lengths.reversed(steps) : steps;
  };
  RecurrentResult reverse = run_loop(loop, in_order(sequence), initial, lengths, in_order(starts[1]));
  if (runs_copy) reverse.output = lengths.reversed(reverse.output);
  RecurrentState both = {at::cat({forward.state.hidden, reverse.state.hidden})};
  for (size_t i = 0; i < forward.state.inner.size(); ++i)
    both.inner.push_back(at::cat({forward.state.inner[i], reverse.state.inner[i]}));
  RecurrentResult result = {at::cat({forward.output, reverse.output}, 2), std::move(both)};
  for (size_t i = 0; i < forward.all_states.size(); ++i) {
    const at::Tensor of_reverse = reverse.all_states[i][0];  // a block of two directions is one layer
    result.all_states.push_back(
        at::stack({forward.all_states[i][0], runs_copy ? lengths.reversed(of_reverse) : of_reverse}));
  }
  return result;
}

UnrolledInput LayersInBlocks::input_of(const Loop& loop, at::ScalarType type, const at::Tensor& sequence,
                                       const RecurrentState& initial, decltype(parameters_of)* weights_at) const {
  const int64_t num_directions = options().num_directions(), offset = loop.direction == Direction::kForward ? 0 : 1;
  const int64_t first = loop.first_layer * num_directions, size = loop.num_layers * num_directions;
  const auto states_of = [&](const at::Tensor& all, at::ScalarType type_of_states) {
    if (!all.defined()) return all;
    return all.narrow(0, first, size).slice(0, offset, std::nullopt, num_directions).to(type_of_states);
  };
  UnrolledInput input = {
      .sequence = sequence, .hidden = states_of(initial.hidden, type), .cell = {}, .layers = {}, .masks = {}};
  std::vector<at::Tensor> inner;
  for (const at::Tensor& state : initial.inner) inner.push_back(states_of(state, accumulation_type(type)));
  if (!inner.empty()) input.cell = inner.size() == 1 ? inner[0] : at::cat(inner, 2);
  for (int64_t index = first + offset; index < first + size; index += num_directions)
    input.layers.push_back(weights_at(program_, weights(), static_cast<size_t>(index)));
  return input;
}

at::Tensor LayersInBlocks::last_states(const std::vector<at::Tensor>& layers, const SequenceEnds& lengths,
                                       Direction order) {
  std::vector<at::Tensor> last;
  for (const at::Tensor& states : layers)
    last.push_back(order == Direction::kForward ? lengths.last(states) : states[0]);
  return at::stack(last);
}

RecurrentResult LayersInBlocks::result_of(const Loop& loop, const UnrolledResult& states, RecurrentState final,
                                          const RecurrentState& initial) const {
  const at::ScalarType type = (initial.cell().defined() ? initial.cell() : weights().front()).scalar_type();
  for (at::Tensor& inner : final.inner) inner = inner.to(type);
  RecurrentResult result = {states.hidden.back(), std::move(final)};
  if (loop.states == StatesOf::kLastStep) return result;
  result.all_states = {at::stack(states.hidden)};
  if (states.cell.empty()) return result;
  for (const at::Tensor& inner : at::stack(states.cell).to(type).chunk(code().columns.inner, /*dim=*/3))
    result.all_states.push_back(inner);
  return result;
}

RecurrentResult UnrolledLayer::run_loop(const Loop& loop, const at::Tensor& sequence, const RecurrentState& initial,
                                        const SequenceEnds& lengths, const at::Tensor& starts) {
  UnrolledInput input = input_of(loop, sequence.scalar_type(), sequence, initial, direction_weights);
  input.masks = dropout_masks(loop.num_layers, sequence);
  const UnrolledSpec spec = {{options().cell, loop.order, sequence.scalar_type(),
                              input.layers.front().weight_ih.scalar_type(), &code(), starts},
                             variant_,
                             compiled_};
  const UnrolledResult result = run_unrolled(spec, input);
  RecurrentState final = {last_states(result.hidden, lengths, loop.order)};
  if (!result.cell.empty())
    final.inner = last_states(result.cell, lengths, loop.order).chunk(code().columns.inner, /*dim=*/2);
  return result_of(loop, result, std::move(final), initial);
}

std::vector<at::Tensor> UnrolledLayer::dropout_masks(int64_t num_layers, const at::Tensor& sequence) const {
  std::vector<at::Tensor> masks;
  if (options().dropout == 0 || !is_training()) return masks;
  const at::Tensor ones = at::ones({sequence.size(0), sequence.size(1), options().hidden_size}, sequence.options());
  for (int64_t layer = 1; layer < num_layers; ++layer) masks.push_back(apply_dropout(ones, options().dropout));
  return masks;
}

}  // namespace rnnlab
