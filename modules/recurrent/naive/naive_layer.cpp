#include "recurrent/naive/naive_layer.h"

#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include "base/error.h"
#include "recurrent/naive/naive_cell.h"

namespace rnnlab {
namespace {

std::unique_ptr<NaiveCell> make_cell(const RecurrentOptions& options, const DirectionWeights& weights) {
  switch (options.cell) {
    case Cell::kLstm:
      return std::make_unique<LstmCell>(weights, options.activation);
    case Cell::kGru:
      return std::make_unique<GruCell>(weights, options.activation, options.reset_gate);
    case Cell::kRnnTanh:
      return std::make_unique<RnnCell>(weights, Activation::kTanh);
    case Cell::kRnnRelu:
      return std::make_unique<RnnCell>(weights, Activation::kRelu);
  }
  RNNLAB_INVARIANT(false, "a cell that the naive layer does not know");
  return nullptr;
}

// The new state where the sequence goes on, the old one where it has ended or, in reverse, not begun.
StepState keep_ended(const at::Tensor& alive, const StepState& next, const StepState& state) {
  StepState kept = {at::where(alive, next.hidden, state.hidden), {}};
  if (next.cell.defined()) kept.cell = at::where(alive, next.cell, state.cell);
  return kept;
}

}  // namespace

DirectionResult NaiveLayer::run_direction(const DirectionInput& input, const DirectionWeights& weights) {
  const auto cell = make_cell(options(), weights);
  const std::vector<at::Tensor> inputs = input.sequence.unbind(0);
  const size_t num_steps = inputs.size();
  std::vector<at::Tensor> outputs(num_steps);
  StepState state = input.initial;
  for (size_t i = 0; i < num_steps; ++i) {
    const size_t t = input.direction == Direction::kForward ? i : num_steps - 1 - i;
    StepState next = cell->step(inputs[t], state);
    // Under autocast an LSTM's cell state stays float32; the hidden state goes on in the type of the products.
    next.hidden = next.hidden.to(state.hidden.scalar_type());
    if (!input.alive.defined()) {
      state = next;
      outputs[t] = state.hidden;
    } else {
      const at::Tensor alive = input.alive[static_cast<int64_t>(t)];
      state = keep_ended(alive, next, state);
      outputs[t] = at::where(alive, state.hidden, 0);
    }
  }
  return {at::stack(outputs), state};
}

}  // namespace rnnlab
