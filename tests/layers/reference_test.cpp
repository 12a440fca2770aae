// SPDX-License-Identifier: Apache-2.0
// Tests the reference itself: its gradients against finite differences of its outputs, and a few hand-computed steps.
#include "layers/reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/cells/cell.h"
#include "layers/problems.h"

namespace rnnlab::reference {
namespace {

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double loss(const Problem& problem, const Result& upstream) {
  const Result result = forward(problem);
  double sum = dot(result.output, upstream.output) + dot(result.hidden, upstream.hidden);
  for (size_t i = 0; i < result.inner.size(); ++i) sum += dot(result.inner[i], upstream.inner[i]);
  return sum;
}

// Central differences in float64: the error is of order step^2 = 1e-10 and rounding / step = 1e-11.
constexpr double kStep = 1e-5;
constexpr double kFiniteDifferenceTolerance = 1e-7;

void expect_gradient(Problem& problem, const Result& upstream, Vector& values, const Vector& gradient,
                     const std::string& name) {
  ASSERT_EQ(values.size(), gradient.size()) << name;
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    values[i] = value + kStep;
    const double above = loss(problem, upstream);
    values[i] = value - kStep;
    const double below = loss(problem, upstream);
    values[i] = value;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), kFiniteDifferenceTolerance) << name << "[" << i << "]";
  }
}

void expect_all_gradients(const RecurrentOptions& options) {
  Problem problem = random_problem(options, {.num_steps = 4, .lengths = Lengths::kVaried}, 100 * kStep);
  const Result upstream = random_upstream(problem);
  Gradients gradients = backward(problem, upstream);
  expect_gradient(problem, upstream, problem.input, gradients.input, "input");
  expect_gradient(problem, upstream, problem.hidden, gradients.hidden, "hidden");
  for (size_t i = 0; i < problem.inner.size(); ++i)
    expect_gradient(problem, upstream, problem.inner[i], gradients.inner[i], "inner state " + std::to_string(i));
  const auto weights = vectors_of(problem.weights), weight_gradients = vectors_of(gradients.weights);
  for (size_t i = 0; i < weights.size(); ++i)
    expect_gradient(problem, upstream, *weights[i], *weight_gradients[i], "parameter " + std::to_string(i));
}

constexpr auto kRelu = Activation::kRelu;

TEST(Reference, GradientsOfAllStacksAreFiniteDifferences) {
  for (RecurrentOptions cell :
       {RecurrentOptions{.cell = Cell::kLstm}, RecurrentOptions{.cell = Cell::kLstm, .activation = kRelu},
        RecurrentOptions{.cell = Cell::kGru}, RecurrentOptions{.cell = Cell::kGru, .activation = kRelu},
        RecurrentOptions{.cell = Cell::kGru, .reset_gate = ResetGate::kBefore},
        RecurrentOptions{.cell = Cell::kGru, .reset_gate = ResetGate::kBefore, .activation = kRelu},
        RecurrentOptions{.cell = Cell::kRnnTanh}, RecurrentOptions{.cell = Cell::kRnnRelu},
        RecurrentOptions{.cell = Cell::kMinGru},
        RecurrentOptions{.cell = Cell::kMinGru, .candidate = Candidate::kLinear},
        RecurrentOptions{.cell = Cell::kMinLstm},
        RecurrentOptions{.cell = Cell::kMinLstm, .candidate = Candidate::kLinear},
        RecurrentOptions{.cell = Cell::kLstmPeephole},
        RecurrentOptions{.cell = Cell::kLstmPeephole, .activation = kRelu}, RecurrentOptions{.cell = Cell::kSlstm},
        RecurrentOptions{.cell = Cell::kSlstm, .heads = 2}, RecurrentOptions{.cell = Cell::kSlstm, .heads = 4}}) {
    SCOPED_TRACE(config::name_of(cell.cell));
    cell.input_size = 2;
    cell.hidden_size = cell.cell == Cell::kSlstm ? 4 : 3;
    for (const RecurrentOptions& options : stacks_of(cell)) expect_all_gradients(options);
  }
}

// The test has one unit and one input, and computes the equations by hand.
Problem tiny(Cell cell, int64_t num_steps) {
  Problem problem;
  problem.options.cell = cell;
  problem.num_steps = num_steps;
  problem.lengths = {num_steps};
  problem.input = Vector(static_cast<size_t>(num_steps), 0.5);
  const int64_t rows = num_gates(cell);
  const Vector row_numbers = {0.1, 0.2, 0.3, 0.4};
  const Vector values(row_numbers.begin(), row_numbers.begin() + rows);
  const Matrix column{rows, 1, values};
  problem.weights.push_back({column, column, values, Vector(static_cast<size_t>(rows))});
  problem.hidden = {0.25};
  if (cell == Cell::kLstm) problem.inner = {{-0.5}};
  return problem;
}

// The sums by hand have the same numbers in a different order.
#define EXPECT_NEAR_TO_ROUNDING(got, wanted) EXPECT_NEAR(got, wanted, 1e-15)

double sigma(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Reference, LstmStepByHand) {
  const Result result = forward(tiny(Cell::kLstm, 1));
  const double sum = 0.5 + 0.25 + 1;  // x + h + 1, times each gate's number
  const double c = sigma(0.2 * sum) * -0.5 + sigma(0.1 * sum) * std::tanh(0.3 * sum);
  EXPECT_NEAR_TO_ROUNDING(result.inner[0][0], c);
  EXPECT_NEAR_TO_ROUNDING(result.hidden[0], sigma(0.4 * sum) * std::tanh(c));
}

TEST(Reference, PeepholeLstmStepByHand) {
  Problem problem = tiny(Cell::kLstmPeephole, 1);
  problem.weights[0].vectors = {{0.5, 0.6, 0.7}};
  problem.inner = {{-0.5}};
  const Result result = forward(problem);
  const double sum = 0.5 + 0.25 + 1;
  const double i = sigma(0.1 * sum - 0.25), f = sigma(0.2 * sum - 0.3);
  const double c = f * -0.5 + i * std::tanh(0.3 * sum);
  EXPECT_NEAR_TO_ROUNDING(result.inner[0][0], c);
  EXPECT_NEAR_TO_ROUNDING(result.hidden[0], sigma(0.4 * sum + 0.7 * c) * std::tanh(c));
}

// The stabilizer cancels out: the hidden states are those of the exponentials themselves.
TEST(Reference, SlstmStepsByHandWithoutStabilizer) {
  Problem problem = tiny(Cell::kSlstm, 2);
  problem.weights[0].bias_hh.clear();
  problem.hidden = {0};
  problem.inner = {{0}, {0}, {0}};
  double h = 0, c = 0, n = 0;
  for (int t = 0; t < 2; ++t) {
    const double sum = 0.5 + h + 1;
    const double i = std::exp(0.1 * sum), f = sigma(0.2 * sum);
    c = f * c + i * std::tanh(0.3 * sum);
    n = f * n + i;
    h = sigma(0.4 * sum) * c / n;
  }
  const Result result = forward(problem);
  EXPECT_NEAR_TO_ROUNDING(result.hidden[0], h);
  const double scale = std::exp(result.inner[2][0]);
  EXPECT_NEAR(result.inner[0][0] * scale, c, 1e-14);
  EXPECT_NEAR(result.inner[1][0] * scale, n, 1e-14);
}

TEST(Reference, GruStepByHandInBothResetForms) {
  Problem problem = tiny(Cell::kGru, 1);
  problem.weights[0].bias_hh = {0, 0, 0.7};
  const double r = sigma(0.1 * 1.75), z = sigma(0.2 * 1.75);
  const double after = std::tanh(0.3 * 0.5 + 0.3 + r * (0.3 * 0.25 + 0.7));
  EXPECT_NEAR_TO_ROUNDING(forward(problem).hidden[0], (1 - z) * after + z * 0.25);
  problem.options.reset_gate = ResetGate::kBefore;
  const double before = std::tanh(0.3 * 0.5 + 0.3 + 0.3 * (r * 0.25) + 0.7);
  EXPECT_NEAR_TO_ROUNDING(forward(problem).hidden[0], (1 - z) * before + z * 0.25);
}

TEST(Reference, MinGruStepByHandForBothCandidates) {
  Problem problem;
  problem.options = {.cell = Cell::kMinGru};
  problem.num_steps = 1;
  problem.lengths = {1};
  problem.input = {0.5};
  problem.weights = {{.weight_ih = {2, 1, {0.1, 0.3}}, .weight_hh = {}, .bias_ih = {0.2, -0.4}, .bias_hh = {}}};
  problem.hidden = {0.25};
  const double z = sigma(0.25), sum = -0.25;
  EXPECT_NEAR_TO_ROUNDING(forward(problem).hidden[0], (1 - z) * 0.25 + z * sigma(sum));
  problem.options.candidate = Candidate::kLinear;
  EXPECT_NEAR_TO_ROUNDING(forward(problem).hidden[0], (1 - z) * 0.25 + z * sum);
  problem.options.candidate = Candidate::kPositive;
  problem.weights[0].bias_ih[1] = 0.4;
  EXPECT_NEAR_TO_ROUNDING(forward(problem).hidden[0], (1 - z) * 0.25 + z * (0.55 + 0.5));
}

TEST(Reference, MinLstmStepByHand) {
  Problem problem;
  problem.options = {.cell = Cell::kMinLstm, .candidate = Candidate::kLinear};
  problem.num_steps = 1;
  problem.lengths = {1};
  problem.input = {0.5};
  problem.weights = {
      {.weight_ih = {3, 1, {0.1, 0.3, 0.7}}, .weight_hh = {}, .bias_ih = {0.2, -0.4, 0.6}, .bias_hh = {}}};
  problem.hidden = {0.25};
  const double i = sigma(0.25), f = sigma(-0.25), n = 0.95;
  EXPECT_NEAR_TO_ROUNDING(forward(problem).hidden[0], f / (f + i) * 0.25 + i / (f + i) * n);
}

TEST(Reference, AShortSequenceIsTheSameAloneAndPadded) {
  RecurrentOptions options{.input_size = 2, .hidden_size = 3, .num_layers = 2, .bidirectional = true};
  Problem padded = random_problem(options, {.num_steps = 5, .batch_size = 1});
  padded.lengths = {2};
  Problem alone = padded;
  alone.num_steps = 2;
  alone.input.resize(4);
  const Result expected = forward(alone), result = forward(padded);
  EXPECT_EQ(result.hidden, expected.hidden);
  EXPECT_EQ(result.inner, expected.inner);
  EXPECT_EQ(Vector(result.output.begin(), result.output.begin() + 12), expected.output);
  EXPECT_EQ(Vector(result.output.begin() + 12, result.output.end()), Vector(18, 0.0));
}

}  // namespace
}  // namespace rnnlab::reference
