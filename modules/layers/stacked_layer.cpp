// SPDX-License-Identifier: Apache-2.0
#include "layers/stacked_layer.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>

#include "layers/dropout.h"

namespace rnnlab {

namespace {

// Returns the states of each direction of each layer. Only the hidden state is multiplied by weights; the others keep
// their type.
std::vector<CellStates> split_by_direction(const RecurrentState& initial) {
  std::vector<CellStates> states;
  for (const at::Tensor& hidden : in_product_type(initial.hidden).unbind(0)) states.push_back({hidden});
  for (const at::Tensor& inner : initial.inner) {
    const std::vector<at::Tensor> parts = inner.unbind(0);
    for (size_t i = 0; i < states.size(); ++i) states[i].push_back(parts[i]);
  }
  return states;
}

// Returns one tensor for each state, with the directions of all layers.
CellStates stacked(const std::vector<CellStates>& states) {
  CellStates all;
  for (size_t number = 0; number < states.front().size(); ++number) {
    std::vector<at::Tensor> parts;
    for (const CellStates& one : states) parts.push_back(one[number]);
    all.push_back(at::stack(parts));
  }
  return all;
}

// Returns the weights of direction `index`, each in product type.
std::vector<at::Tensor> product_weights(const std::vector<at::Tensor>& weights, size_t index, size_t num_parameters) {
  std::vector<at::Tensor> mine;
  for (size_t i = 0; i < num_parameters; ++i) mine.push_back(in_product_type(weights[index * num_parameters + i]));
  return mine;
}

}  // namespace

RecurrentResult StackedLayer::run(const at::Tensor& input, const RecurrentState& initial, const Segments& segments,
                                  StatesOf states) {
  const auto num_directions = static_cast<size_t>(options().num_directions());
  const auto num_layers = static_cast<size_t>(options().num_layers);
  const size_t num_parameters = weights().size() / (num_layers * num_directions);
  const bool are_whole = !segments.lengths.defined();
  const at::Tensor alive = are_whole ? at::Tensor() : steps_within(segments.lengths, input.size(0)).to(input.device());
  const auto starts = starts_by_direction(segments, options().num_directions());
  const std::vector<CellStates> initial_states = split_by_direction(initial);

  at::Tensor sequence = in_product_type(input);
  std::vector<CellStates> ends, all;
  for (size_t layer = 0; layer < num_layers; ++layer) {
    std::vector<at::Tensor> outputs;
    for (size_t direction = 0; direction < num_directions; ++direction) {
      const size_t index = layer * num_directions + direction;
      const auto way = direction == 0 ? Direction::kForward : Direction::kReverse;
      const DirectionResult result =
          run_direction({sequence, initial_states[index], alive, way, segments.lengths, starts[direction], states},
                        product_weights(weights(), index, num_parameters));
      outputs.push_back(result.output);
      ends.push_back(result.final);
      all.push_back(result.all);
    }
    sequence = num_directions == 1 ? outputs.front() : at::cat(outputs, 2);
    if (layer + 1 < num_layers && options().dropout > 0 && is_training())
      sequence = apply_dropout(sequence, options().dropout);
  }
  const CellStates last = stacked(ends);
  RecurrentState final = {last.front()};
  final.inner.assign(last.begin() + 1, last.end());
  return {sequence, std::move(final), stacked(all)};
}

namespace {

RecurrentState part_of(const RecurrentState& state, int64_t first, int64_t count) {
  RecurrentState part = {state.hidden.narrow(0, first, count)};
  for (const at::Tensor& inner : state.inner) part.inner.push_back(inner.narrow(0, first, count));
  return part;
}

}  // namespace

std::vector<RecurrentOptions> layer_groups(const RecurrentOptions& options) {
  RecurrentOptions group = options;
  group.dropout = 0;
  if (options.dropout == 0 || options.num_layers == 1) return {group};
  group.num_layers = 1;
  std::vector<RecurrentOptions> groups(static_cast<size_t>(options.num_layers), group);
  for (size_t i = 1; i < groups.size(); ++i) groups[i].input_size = options.num_directions() * options.hidden_size;
  return groups;
}

RecurrentResult run_groups(const std::vector<RecurrentOptions>& groups, double dropout, const at::Tensor& input,
                           const RecurrentState& initial, const RunLayerGroup& run) {
  if (groups.size() == 1) return run(0, input, initial);
  at::Tensor sequence = input;
  std::vector<at::Tensor> hidden, cell;
  int64_t first = 0;
  for (size_t group = 0; group < groups.size(); ++group) {
    if (group > 0 && dropout > 0) sequence = apply_dropout(sequence, dropout);
    const int64_t count = groups[group].num_layers * groups[group].num_directions();
    const RecurrentResult result = run(group, sequence, part_of(initial, first, count));
    first += count;
    sequence = result.output;
    hidden.push_back(result.state.hidden);
    if (result.state.cell().defined()) cell.push_back(result.state.cell());
  }
  return {sequence, {at::cat(hidden), cell.empty() ? at::Tensor() : at::cat(cell)}};
}

}  // namespace rnnlab
