// SPDX-License-Identifier: Apache-2.0
#include "layers/scan/scan_layer.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/recurrent_layer.h"

namespace rnnlab {
namespace {

constexpr auto kForward = Direction::kForward;
constexpr auto kReverse = Direction::kReverse;

at::Tensor random_factors(int64_t num_steps) { return at::rand({num_steps, 3, 5}, at::kDouble); }

// Computes the states step by step, by the definition.
at::Tensor by_definition(const at::Tensor& factors, const at::Tensor& terms, at::Tensor state, Direction direction) {
  const int64_t num_steps = factors.size(0);
  std::vector<at::Tensor> states(static_cast<size_t>(num_steps));
  for (int64_t i = 0; i < num_steps; ++i) {
    const int64_t t = direction == kForward ? i : num_steps - 1 - i;
    state = factors[t] * state + terms[t];
    states[static_cast<size_t>(t)] = state;
  }
  return at::stack(states);
}

TEST(Scan, IsTheRecurrenceInBothDirections) {
  for (const int64_t num_steps : {1, 2, 7, 8, 33})
    for (const Direction direction : {kForward, kReverse}) {
      const at::Tensor factors = random_factors(num_steps), terms = random_factors(num_steps) - 0.5;
      const at::Tensor initial = random_factors(1)[0];
      const at::Tensor expected = by_definition(factors, terms, initial, direction);
      EXPECT_TRUE(at::allclose(scanned(factors, terms, initial, direction), expected, 1e-12, 1e-14)) << num_steps;
      EXPECT_TRUE(at::allclose(scanned_by_operators(factors, terms, initial, direction), expected, 1e-12, 1e-14))
          << num_steps;
    }
}

// A product of a thousand factors near 0 is 0, and nothing divides by it.
TEST(Scan, StaysFiniteWhereProductsVanish) {
  const at::Tensor factors = 1e-6 * random_factors(1000), terms = random_factors(1000) - 0.5;
  const at::Tensor initial = random_factors(1)[0];
  const at::Tensor states = scanned_by_operators(factors, terms, initial, kForward);
  EXPECT_TRUE(at::allclose(states, by_definition(factors, terms, initial, kForward), 1e-12, 1e-14));
}

// If both gates round to 0, their quotient is still finite, forward and backward.
TEST(Scan, EqualsNaiveForSaturatedGates) {
  for (const Cell cell : {Cell::kMinGru, Cell::kMinLstm})
    for (const Candidate candidate : {Candidate::kPositive, Candidate::kLinear}) {
      const RecurrentOptions options = {
          .cell = cell, .input_size = 4, .hidden_size = 6, .num_layers = 2, .candidate = candidate};
      const auto naive = make_layer(LayerKind::kNaive, options), scan = make_layer(LayerKind::kScan, options);
      copy_weights(*naive, *scan);
      naive->to(at::kDouble);
      scan->to(at::kDouble);
      const at::Tensor input = 2000 * at::randn({9, 2, 4}, at::kDouble);
      const at::Tensor first = input.clone().requires_grad_(true), second = input.clone().requires_grad_(true);
      const at::Tensor expected = naive->forward(first).output, output = scan->forward(second).output;
      EXPECT_TRUE(at::isfinite(output).all().item<bool>());
      EXPECT_TRUE(at::allclose(output, expected, 1e-9, 1e-9));
      expected.sum().backward();
      output.sum().backward();
      EXPECT_TRUE(at::isfinite(second.grad()).all().item<bool>());
      EXPECT_TRUE(at::allclose(second.grad(), first.grad(), 1e-9, 1e-9));
    }
}

}  // namespace
}  // namespace rnnlab
