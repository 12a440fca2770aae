#include "recurrent/layer_groups.h"

#include <ATen/ops/cat.h>

#include "recurrent/dropout.h"

namespace rnnlab {
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
                           const RecurrentState& initial, const RunGroup& run) {
  if (groups.size() == 1) return run(0, input, initial);
  at::Tensor sequence = input;
  std::vector<at::Tensor> hidden, cell;
  int64_t first = 0;
  for (size_t group = 0; group < groups.size(); ++group) {
    if (group > 0 && dropout > 0) sequence = dropped_out(sequence, dropout);
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
