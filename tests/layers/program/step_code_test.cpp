// SPDX-License-Identifier: Apache-2.0
// Tests the instructions of programs, and the kernels that interpret them, against float64 evaluation of the graphs:
// every operation, sizes that are not those of tiles and vectors, and both kinds of kernels of the CPU.
#include "layers/program/step_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "layers/program/evaluate.h"
#include "layers/program/random_cell.h"

namespace rnnlab {
namespace {

// One step of a program for B sequences and H units, with random products, states and gradients.
template <class Real>
class StepUnderTest {
 public:
  StepUnderTest(const CellProgram& program, int64_t batch_size, int64_t hidden_size, uint64_t seed)
      : program_(program), code_(step_code_of(program)), batch_size_(batch_size), size_(hidden_size), random_(seed) {
    input_ = draw(batch_size * code_.num_gates * size_);
    recurrent_ = draw(batch_size * code_.num_gates * size_);
    bias_ih_ = draw(code_.num_gates * size_);
    bias_hh_ = draw(code_.num_gates * size_);
    hidden_ = draw(batch_size * size_);
    inner_ = draw(batch_size * code_.num_inner * size_);
    output_gradient_ = draw(batch_size * size_);
    carry_ = draw(batch_size * (code_.num_inner + 1) * size_);
    carry_before_ = carry_;
    hidden_after_.resize(hidden_.size());
    inner_after_.resize(inner_.size());
    kept_.resize(static_cast<size_t>(batch_size * code_.num_kept * size_));
    input_side_.resize(input_.size());
    hidden_side_.resize(input_.size());
  }

  void run() {
    kernels::ProgramStep work{
        .step = {.type = sizeof(Real) == 8 ? kernels::ElementType::kFloat64 : kernels::ElementType::kFloat32,
                 .batch_size = batch_size_,
                 .hidden_size = size_},
        .instructions = code_.forward.data(),
        .num_instructions = std::ssize(code_.forward),
        .num_gates = code_.num_gates,
        .num_inner = code_.num_inner,
        .num_kept = code_.num_kept,
        .products = {.input = input_.data(),
                     .recurrent = recurrent_.data(),
                     .bias_ih = bias_ih_.data(),
                     .bias_hh = bias_hh_.data()},
        .hidden_before = hidden_.data(),
        .inner_before = inner_.data(),
        .hidden_after = hidden_after_.data(),
        .inner_after = inner_after_.data(),
        .kept = kept_.data()};
    kernels::run(work, kernels::Rows{0, batch_size_});
    work.instructions = code_.backward.data();
    work.num_instructions = std::ssize(code_.backward);
    work.hidden_gradient = {.from_output = output_gradient_.data()};
    work.carry = carry_.data();
    work.input_side = input_side_.data();
    work.hidden_side = hidden_side_.data();
    kernels::run(work, kernels::Rows{0, batch_size_});
  }

  // Compares every value that is stored with the evaluation of the graphs.
  void expect_evaluation(double tolerance, const std::string& what) const {
    const ReverseProgram reverse = reverse_of(program_);
    for (int64_t b = 0; b < batch_size_; ++b)
      for (int64_t unit = 0; unit < size_; ++unit) {
        const UnitInputs inputs = inputs_of(b, unit);
        if (run_with_derivatives(program_, inputs).distance_to_kink < 10 * tolerance) continue;
        std::vector<double> gradients;
        for (int64_t i = 0; i <= code_.num_inner; ++i)
          gradients.push_back(at(carry_before_, code_.num_inner + 1, i, b, unit));
        gradients[0] += at(output_gradient_, 1, 0, b, unit);
        const std::vector<double> values = values_of(reverse.graph, inputs, gradients);
        const auto near = [&](double got, NodeId node, const char* list) {
          const double wanted = node == kNoNode ? 0 : values[static_cast<size_t>(node)];
          ASSERT_NEAR(got, wanted, tolerance * (1 + std::abs(wanted))) << list << " " << what;
        };
        near(at(hidden_after_, 1, 0, b, unit), program_.new_states[0], "hidden");
        for (int64_t i = 0; i < code_.num_inner; ++i)
          near(at(inner_after_, code_.num_inner, i, b, unit), program_.new_states[static_cast<size_t>(i) + 1], "inner");
        for (int64_t i = 0; i < code_.num_kept; ++i)
          near(at(kept_, code_.num_kept, i, b, unit), reverse.kept[static_cast<size_t>(i)], "kept");
        for (int64_t i = 0; i < code_.num_gates; ++i) {
          const auto gate = static_cast<size_t>(i);
          near(at(input_side_, code_.num_gates, i, b, unit), reverse.input_sides[gate], "input side");
          if (code_.has_sides_apart)
            near(at(hidden_side_, code_.num_gates, i, b, unit), reverse.hidden_sides[gate], "hidden side");
        }
        for (int64_t i = 0; i <= code_.num_inner; ++i)
          near(at(carry_, code_.num_inner + 1, i, b, unit), reverse.states[static_cast<size_t>(i)], "state");
      }
  }

 private:
  std::vector<Real> draw(int64_t count) {
    std::normal_distribution<double> normal(0, 0.5);
    std::vector<Real> values(static_cast<size_t>(count));
    for (Real& value : values) value = static_cast<Real>(normal(random_));
    return values;
  }

  double at(const std::vector<Real>& values, int64_t columns, int64_t column, int64_t b, int64_t unit) const {
    return values[static_cast<size_t>((b * columns + column) * size_ + unit)];
  }

  UnitInputs inputs_of(int64_t b, int64_t unit) const {
    UnitInputs inputs;
    for (int64_t i = 0; i < code_.num_gates; ++i) {
      const double input = at(input_, code_.num_gates, i, b, unit) + at(bias_ih_, code_.num_gates, i, 0, unit);
      const double hidden = at(recurrent_, code_.num_gates, i, b, unit) + at(bias_hh_, code_.num_gates, i, 0, unit);
      const bool is_sum = program_.gates[static_cast<size_t>(i)].is_sum;
      inputs.input_sides.push_back(is_sum ? input + hidden : input);
      inputs.hidden_sides.push_back(is_sum ? 0 : hidden);
    }
    inputs.states.push_back(at(hidden_, 1, 0, b, unit));
    for (int64_t i = 0; i < code_.num_inner; ++i) inputs.states.push_back(at(inner_, code_.num_inner, i, b, unit));
    return inputs;
  }

  const CellProgram& program_;
  const StepCode& code_;
  int64_t batch_size_, size_;
  std::mt19937_64 random_;
  std::vector<Real> input_, recurrent_, bias_ih_, bias_hh_, hidden_, inner_, output_gradient_, carry_, carry_before_;
  std::vector<Real> hidden_after_, inner_after_, kept_, input_side_, hidden_side_;
};

template <class Real>
void expect_evaluation(const CellProgram& program, int64_t hidden_size, uint64_t seed, double tolerance,
                       const std::string& what) {
  StepUnderTest<Real> step(program, 2, hidden_size, seed);
  step.run();
  step.expect_evaluation(tolerance, what);
}

TEST(StepCode, ComputesRandomCells) {
  int num_run = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    const CellText text = random_cell(seed);
    const CellProgram program = program_of(text);
    if (!why_no_step_code(program).empty()) continue;
    const std::string what = std::to_string(seed) + "\n" + text.equations;
    expect_evaluation<double>(program, 70, seed, 1e-12, what);
    expect_evaluation<float>(program, 70, seed, 1e-4, what);
    if (testing::Test::HasFailure()) return;
    num_run += 1;
  }
  EXPECT_GT(num_run, 30);
}

TEST(StepCode, RunsPartsOfTilesAndVectors) {
  const CellProgram program = program_of(
      {.gates = {"f", "n"}, .states = {"h"}, .equations = "f = sigmoid(f)\nh = (1 - f) * h + f * tanh(x.n + f * h.n)"});
  for (const int64_t size : {1, 3, 15, 16, 17, 63, 64, 65, 200}) {
    expect_evaluation<double>(program, size, 1, 1e-12, std::to_string(size));
    expect_evaluation<float>(program, size, 1, 1e-4, std::to_string(size));
  }
}

// A state may be a gate's sum itself, and the gradient of one state may be that of another after the step.
TEST(StepCode, ComputesStatesThatAreGatesOrOtherStates) {
  for (const char* equations : {"c = f\nh = tanh(n) * relu(c)", "old = c\nc = h\nh = tanh(f) * n + old",
                                "c = x.f\nh = tanh(n) * c * h.f", "old = h\nh = c + tanh(f + n)\nc = old"}) {
    const CellProgram program = program_of({.gates = {"f", "n"}, .states = {"h", "c"}, .equations = equations});
    ASSERT_EQ(why_no_step_code(program), "") << equations;
    expect_evaluation<double>(program, 20, 1, 1e-12, equations);
    expect_evaluation<float>(program, 20, 1, 1e-4, equations);
  }
}

TEST(StepCode, SaysWhichProgramsItDoesNotRun) {
  const auto reason = [](const char* equations) {
    return why_no_step_code(program_of({.gates = {"f"}, .states = {"h"}, .equations = equations}));
  };
  EXPECT_EQ(reason("h = tanh(f)"), "");
  EXPECT_NE(reason("h = tanh(x.f + h.f(h * h))"), "");
  EXPECT_EQ(reason("h = tanh(x.f + 2 * h.f(h))"), "") << "a product with the hidden state itself";
  EXPECT_NE(reason("h = h + x.f"), "");
}

}  // namespace
}  // namespace rnnlab
