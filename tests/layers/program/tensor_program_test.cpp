// SPDX-License-Identifier: Apache-2.0
// Tests programs by LibTorch's operators against dual numbers: values, and gradients by autograd.
#include "layers/program/tensor_program.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "layers/program/dual_numbers.h"
#include "layers/program/random_cell.h"

namespace rnnlab {
namespace {

constexpr int64_t kInputs = 2, kUnits = 3, kSequences = 2;

struct Drawn {
  std::vector<at::Tensor> weights;
  at::Tensor x;
  CellStates states;
};

at::Tensor draw(at::IntArrayRef shape) {
  return at::randn(shape, at::TensorOptions(at::kDouble)).mul_(0.5).requires_grad_();
}

Drawn draw_all(const CellProgram& program) {
  Drawn drawn;
  const int64_t inputs = program.num_input_gates() * kUnits, hidden = program.num_hidden_gates() * kUnits;
  if (inputs > 0) drawn.weights.push_back(draw({inputs, kInputs}));
  if (hidden > 0) drawn.weights.push_back(draw({hidden, kUnits}));
  if (program.has_input_biases()) drawn.weights.push_back(draw({inputs}));
  if (program.has_hidden_biases()) drawn.weights.push_back(draw({hidden}));
  for (const LearnedVector& vector : program.vectors) drawn.weights.push_back(draw({vector.num_rows() * kUnits}));
  drawn.x = draw({kSequences, kInputs});
  for (size_t i = 0; i < program.states.size(); ++i) drawn.states.push_back(draw({kSequences, kUnits}));
  return drawn;
}

// The gradients of the states before the step that go through the unit's own equations alone, without products.
void expect_same_step(const CellProgram& program, const std::string& what) {
  const Drawn drawn = draw_all(program);
  const TensorProgram tensors(program, drawn.weights, kUnits, 1);
  const CellStates next = tensors.step(drawn.x, drawn.states);

  // Products by plain tensors, in float64.
  size_t place = 0;
  const auto take = [&](bool is_there) { return is_there ? drawn.weights[place++] : at::Tensor(); };
  const at::Tensor weight_ih = take(program.num_input_gates() > 0), weight_hh = take(program.num_hidden_gates() > 0);
  const at::Tensor bias_ih = take(program.has_input_biases()), bias_hh = take(program.has_hidden_biases());
  const auto product = [](const at::Tensor& v, const at::Tensor& weight, const at::Tensor& bias) {
    if (!weight.defined()) return at::Tensor();
    const at::Tensor sums = at::mm(v, weight.t());
    return bias.defined() ? sums + bias : sums;
  };
  const at::Tensor of_input = product(drawn.x, weight_ih, bias_ih);
  const at::Tensor of_hidden = product(drawn.states[0], weight_hh, bias_hh);

  for (int64_t b = 0; b < kSequences; ++b)
    for (int64_t unit = 0; unit < kUnits; ++unit) {
      UnitInputs inputs;
      int64_t input_row = 0, hidden_row = 0;
      for (const GateSides& gate : program.gates) {
        double input = gate.reads_input ? of_input[b][kUnits * input_row++ + unit].item<double>() : 0;
        double hidden = gate.reads_hidden ? of_hidden[b][kUnits * hidden_row++ + unit].item<double>() : 0;
        inputs.input_sides.push_back(gate.is_sum ? input + hidden : input);
        inputs.hidden_sides.push_back(gate.is_sum ? 0 : hidden);
      }
      for (const at::Tensor& state : drawn.states) inputs.states.push_back(state[b][unit].item<double>());
      for (size_t i = place; i < drawn.weights.size(); ++i)
        for (int64_t row = 0; row < drawn.weights[i].size(0) / kUnits; ++row)
          inputs.vectors.push_back(drawn.weights[i][row * kUnits + unit].item<double>());
      const UnitStep step = run_with_derivatives(program, inputs);
      for (size_t state = 0; state < next.size(); ++state) {
        const at::Tensor value = next[state][b][unit];
        EXPECT_NEAR(value.item<double>(), step.states[state].value, 1e-12) << what;
        if (step.distance_to_kink < 1e-9) continue;
        // A state that is not the hidden one is read by the unit's own equations alone.
        for (size_t from = 1; from < drawn.states.size(); ++from) {
          double got = 0;
          if (value.requires_grad()) {
            const auto gradient = torch::autograd::grad({value}, {drawn.states[from]}, {}, /*retain_graph=*/true,
                                                        /*create_graph=*/false, /*allow_unused=*/true)[0];
            if (gradient.defined()) got = gradient[b][unit].item<double>();
          }
          EXPECT_NEAR(got, step.states[state].derivatives.states[from], 1e-12) << what;
        }
      }
    }
}

TEST(TensorProgram, ComputesRandomCells) {
  at::manual_seed(1);
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const CellText text = random_cell(seed);
    if (program_of(text).has_dependent_product()) continue;  // whose values depend on those of other units
    expect_same_step(program_of(text), std::to_string(seed) + "\n" + text.equations);
    if (HasFailure()) return;
  }
}

// A number and a vector have no value for each sequence.
TEST(TensorProgram, GivesEveryStateTheShapeOfStates) {
  for (const char* equations :
       {"h = sigmoid(p) + 0 * f", "h = f + where(1 < 2, 1, 2) + 0 * p", "h = x.f + h.f(0.5) + 0 * p",
        "h = x.f + h.f(p)", "h = f * where(h < 0, 0.1, 0.3) + 0 * p"}) {
    const CellProgram program =
        program_of({.gates = {"f"}, .states = {"h"}, .equations = equations, .vectors = {{"p", {}}}});
    const Drawn drawn = draw_all(program);
    const CellStates next = TensorProgram(program, drawn.weights, kUnits, 1).step(drawn.x, drawn.states);
    EXPECT_EQ(next[0].sizes(), drawn.states[0].sizes()) << equations;
    EXPECT_EQ(next[0].scalar_type(), at::kDouble) << equations;
  }
}

TEST(TensorProgram, GivesAStateThatIsANumber) {
  const CellProgram program = program_of({.gates = {"f"}, .states = {"h", "s"}, .equations = "h = f + s\ns = 2"});
  const Drawn drawn = draw_all(program);
  const CellStates next = TensorProgram(program, drawn.weights, kUnits, 1).step(drawn.x, drawn.states);
  EXPECT_TRUE(at::equal(next[1], at::full({kSequences, kUnits}, 2.0, at::kDouble)));
}

}  // namespace
}  // namespace rnnlab
