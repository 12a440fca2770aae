// SPDX-License-Identifier: Apache-2.0
#include "layers/reference_cells.h"

#include <algorithm>

#include "layers/cells/cell.h"

namespace rnnlab::reference {
namespace {

// The rows of one gate in a stacked weight, and the columns that each of its units reads: those of the unit's head.
struct GateRows {
  size_t first_row = 0, num_units = 0, units_of_head = 0;

  size_t row(size_t unit) const { return first_row + unit; }
  size_t first_column(size_t unit) const { return unit / units_of_head * units_of_head; }
};

// Adds W v + b to `sums`. `bias` may be empty.
void add_product(const Matrix& weight, const Vector& bias, const GateRows& rows, const Vector& v, Vector& sums) {
  const auto num_columns = static_cast<size_t>(weight.columns);
  for (size_t unit = 0; unit < rows.num_units; ++unit) {
    const size_t row = rows.row(unit);
    if (!bias.empty()) sums[unit] += bias[row];
    for (size_t j = 0; j < num_columns; ++j)
      sums[unit] += weight.values[row * num_columns + j] * v[rows.first_column(unit) + j];
  }
}

// Given d, the gradient of W v + b, adds d v^T, d and W^T d to the three gradients.
void add_gradients(const Matrix& weight, const GateRows& rows, const Vector& d, const Vector& v, Matrix& d_weight,
                   Vector& d_bias, Vector& d_v) {
  const auto num_columns = static_cast<size_t>(weight.columns);
  for (size_t unit = 0; unit < rows.num_units; ++unit) {
    const size_t row = rows.row(unit);
    if (!d_bias.empty()) d_bias[row] += d[unit];
    for (size_t j = 0; j < num_columns; ++j) {
      const size_t column = rows.first_column(unit) + j;
      d_weight.values[row * num_columns + j] += d[unit] * v[column];
      d_v[column] += weight.values[row * num_columns + j] * d[unit];
    }
  }
}

// Computes steps of one cell with these weights.
class CellSteps {
 public:
  CellSteps(const RecurrentOptions& options, const Weights& weights)
      : program_(program_of(options)), weights_(weights), size_(static_cast<size_t>(options.hidden_size)) {
    const size_t head = size_ / static_cast<size_t>(options.heads);
    size_t input_row = 0, hidden_row = 0;
    for (const GateSides& gate : program_.gates) {
      input_rows_.push_back({input_row, size_, SIZE_MAX / 2});
      hidden_rows_.push_back({hidden_row, size_, head});
      input_row += gate.reads_input ? size_ : 0;
      hidden_row += gate.reads_hidden ? size_ : 0;
    }
  }

  Step forward(const Vector& x, const States& states) {
    Step step;
    step.x = x;
    step.states = states;
    std::vector<Vector> input_sides, hidden_sides;
    for (size_t gate = 0; gate < program_.gates.size(); ++gate) {
      input_sides.emplace_back(size_);
      hidden_sides.emplace_back(size_);
      const GateSides& sides = program_.gates[gate];
      if (sides.reads_input) add_product(weights_.weight_ih, weights_.bias_ih, input_rows_[gate], x, input_sides[gate]);
      if (sides.reads_hidden && !has_operand(gate))
        add_product(weights_.weight_hh, weights_.bias_hh, hidden_rows_[gate], states[0],
                    sides.is_sum ? input_sides[gate] : hidden_sides[gate]);
    }
    run_units(step, input_sides, hidden_sides);
    if (!program_.has_dependent_product()) return step;
    for (size_t gate = 0; gate < program_.gates.size(); ++gate)
      if (has_operand(gate))
        add_product(weights_.weight_hh, weights_.bias_hh, hidden_rows_[gate], operands_of(step, gate),
                    hidden_sides[gate]);
    run_units(step, input_sides, hidden_sides);
    return step;
  }

  StepGradients backward(const Step& step, const States& d_new, Weights& d_w) {
    StepGradients d{Vector(step.x.size()), States(step.states.size(), Vector(size_))};
    d_input_.assign(program_.gates.size(), Vector(size_));
    d_hidden_ = d_input_;
    for (size_t state = 0; state < d_new.size(); ++state)
      for (size_t unit = 0; unit < size_; ++unit)
        add_derivatives(step.units[unit].states[state], d_new[state][unit], unit, d.states, d_w);
    for (size_t gate = 0; gate < program_.gates.size(); ++gate)
      if (has_operand(gate)) pass_through_operand(step, gate, d.states, d_w);
    for (size_t gate = 0; gate < program_.gates.size(); ++gate) {
      const GateSides& sides = program_.gates[gate];
      if (sides.reads_input)
        add_gradients(weights_.weight_ih, input_rows_[gate], d_input_[gate], step.x, d_w.weight_ih, d_w.bias_ih, d.x);
      if (sides.reads_hidden && !has_operand(gate))
        add_gradients(weights_.weight_hh, hidden_rows_[gate], sides.is_sum ? d_input_[gate] : d_hidden_[gate],
                      step.states[0], d_w.weight_hh, d_w.bias_hh, d.states[0]);
    }
    return d;
  }

 private:
  bool has_operand(size_t gate) const {
    return std::ranges::any_of(program_.graph.nodes(), [&](const Node& node) {
      return node.operation == Operation::kHiddenProduct && static_cast<size_t>(node.index) == gate;
    });
  }

  static Vector operands_of(const Step& step, size_t gate) {
    Vector operands;
    for (const UnitStep& unit : step.units) operands.push_back(unit.operands[gate].value);
    return operands;
  }

  void run_units(Step& step, const std::vector<Vector>& input_sides, const std::vector<Vector>& hidden_sides) const {
    const auto of_unit = [](const std::vector<Vector>& all, size_t unit) {
      Vector values;
      for (const Vector& one : all) values.push_back(one[unit]);
      return values;
    };
    step.units.clear();
    step.new_states.assign(step.states.size(), Vector(size_));
    step.distance_to_kink = 1e300;
    for (size_t unit = 0; unit < size_; ++unit) {
      step.units.push_back(run_with_derivatives(program_, {of_unit(input_sides, unit), of_unit(hidden_sides, unit),
                                                           of_unit(step.states, unit), vectors_of_unit(unit)}));
      const UnitStep& result = step.units.back();
      for (size_t state = 0; state < result.states.size(); ++state)
        step.new_states[state][unit] = result.states[state].value;
      step.distance_to_kink = std::min(step.distance_to_kink, result.distance_to_kink);
    }
  }

  Vector vectors_of_unit(size_t unit) const {
    Vector values;
    for (const Vector& vector : weights_.vectors)
      for (size_t row = 0; row < vector.size() / size_; ++row) values.push_back(vector[row * size_ + unit]);
    return values;
  }

  void add_derivatives(const DerivedValue& value, double d, size_t unit, States& d_states, Weights& d_w) {
    const UnitInputs& by = value.derivatives;
    for (size_t gate = 0; gate < program_.gates.size(); ++gate) {
      d_input_[gate][unit] += d * by.input_sides[gate];
      d_hidden_[gate][unit] += d * by.hidden_sides[gate];
    }
    for (size_t state = 0; state < d_states.size(); ++state) d_states[state][unit] += d * by.states[state];
    size_t row = 0;
    for (Vector& vector : d_w.vectors)
      for (size_t i = unit; i < vector.size(); i += size_) vector[i] += d * by.vectors[row++];
  }

  void pass_through_operand(const Step& step, size_t gate, States& d_states, Weights& d_w) {
    Vector d_operand(size_);
    add_gradients(weights_.weight_hh, hidden_rows_[gate], d_hidden_[gate], operands_of(step, gate), d_w.weight_hh,
                  d_w.bias_hh, d_operand);
    for (size_t unit = 0; unit < size_; ++unit)
      add_derivatives(step.units[unit].operands[gate], d_operand[unit], unit, d_states, d_w);
  }

  const CellProgram& program_;
  const Weights& weights_;
  size_t size_;
  std::vector<GateRows> input_rows_, hidden_rows_;  // by gate
  std::vector<Vector> d_input_, d_hidden_;          // by gate
};

}  // namespace

Step step_forward(const RecurrentOptions& options, const Weights& weights, const Vector& x, const States& states) {
  return CellSteps(options, weights).forward(x, states);
}

StepGradients step_backward(const RecurrentOptions& options, const Weights& weights, const Step& step,
                            const States& d_new, Weights& d_w) {
  return CellSteps(options, weights).backward(step, d_new, d_w);
}

}  // namespace rnnlab::reference
