// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/cells/cell.h"
#include "layers/layer_under_test.h"
#include "layers/program/random_cell.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {
namespace {

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

// An output or a final state that nothing reads has no gradient.
TEST(Scan, HasGradientsOfEachResultByItself) {
  const Cell cell =
      own_cell({.gates = {"f", "n"}, .states = {"h", "c"}, .equations = "c = sigmoid(x.f) * c + x.n\nh = tanh(c)"})
          .value();
  const RecurrentOptions options = {.cell = cell, .input_size = 4, .hidden_size = 6};
  const auto naive = make_layer(LayerKind::kNaive, options), scan = make_layer(LayerKind::kScan, options);
  copy_weights(*naive, *scan);
  const at::Tensor input = at::randn({5, 3, 4});
  for (const size_t result : {0U, 1U, 2U}) {
    std::vector<at::Tensor> gradients;
    for (const auto& layer : {naive, scan}) {
      const at::Tensor x = input.clone().requires_grad_(true);
      const RecurrentResult results = layer->forward(x);
      const at::Tensor read[] = {results.output, results.state.hidden, results.state.inner[0]};
      read[result].sum().backward();
      gradients.push_back(x.grad());
    }
    EXPECT_TRUE(at::allclose(gradients[0], gradients[1], 1e-5, 1e-6)) << result;
  }
}

TEST(Scan, OfRandomCellsEqualsNaive) {
  int num_cells = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const CellText text = random_cell_of_units(seed);
    const std::optional<Cell> cell = own_cell(text);
    ASSERT_TRUE(cell) << text.equations;
    const RecurrentOptions options = {.cell = *cell, .input_size = 4, .hidden_size = 70, .bidirectional = true};
    if (why_unsupported(LayerKind::kScan, {.options = options})) continue;
    const auto naive = make_layer(LayerKind::kNaive, options), scan = make_layer(LayerKind::kScan, options);
    copy_weights(*naive, *scan);
    naive->to(at::kDouble);
    scan->to(at::kDouble);
    const at::Tensor input = at::randn({7, 3, 4}, at::kDouble), lengths = at::tensor({3, 7, 1}, at::kLong);
    const std::vector<at::Tensor> wanted = results_and_gradients(*naive, input, {lengths, {}}),
                                  got = results_and_gradients(*scan, input, {lengths, {}});
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_TRUE(at::allclose(got[i], wanted[i], 1e-9, 1e-9)) << i << "\n" << text.equations;
    num_cells += 1;
  }
  EXPECT_GT(num_cells, 40);
}

}  // namespace
}  // namespace rnnlab
