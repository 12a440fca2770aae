// SPDX-License-Identifier: Apache-2.0
// Runs random programs by the kernels that a GPU compiles from them: steps of the ladder, scans, and `persistent` in
// all its forms. RNNLAB_LONG_RUN: a thousand programs for each.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "layers/cells/cell.h"
#include "layers/layer_under_test.h"
#include "layers/on_cuda.h"
#include "layers/persistent_check.h"
#include "layers/program/random_cell.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {
namespace {

constexpr uint64_t kNumGroups = 20;  // which the shards of a test run divide

uint64_t cells_of_group() { return is_long_run() ? 50 : 1; }

// Calls use(cell, number) for the cells of a group, which are those of the random texts that `is_wanted` accepts.
template <class Use>
void for_cells_of_group(uint64_t group, CellText (*text_of)(uint64_t), bool (*is_wanted)(Cell), const Use& use) {
  uint64_t count = 0;
  for (uint64_t seed = group + 1; count < cells_of_group(); seed += kNumGroups) {
    const CellText text = text_of(seed);
    const std::optional<Cell> cell = own_cell(text);
    if (!cell || !is_wanted(*cell)) continue;
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, text.equations));
    use(*cell, group + kNumGroups * count++);
  }
}

// In float64, where rounding does not cross a kink.
void expect_naive(LayerKind kind, Cell cell) {
  const RecurrentOptions options = {.cell = cell, .input_size = 4, .hidden_size = 37};
  const auto naive = make_layer(LayerKind::kNaive, options), layer = make_layer(kind, options);
  copy_weights(*naive, *layer);
  naive->to(at::kCUDA, at::kDouble);
  layer->to(at::kCUDA, at::kDouble);
  const auto on_gpu = at::device(at::kCUDA);
  const at::Tensor input = at::randn({5, 3, 4}, on_gpu.dtype(at::kDouble)), starts = at::rand({5, 3}, on_gpu).lt(0.2);
  const auto wanted = results_and_gradients(*naive, input, {{}, starts}),
             got = results_and_gradients(*layer, input, {{}, starts});
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(at::allclose(got[i], wanted[i], 1e-8, 1e-8)) << i;
}

bool is_for(LayerKind kind, Cell cell) {
  return !why_unsupported(kind, {.options = RecurrentOptions{.cell = cell, .input_size = 4, .hidden_size = 40}});
}

class RandomCellsOnCuda : public ByOwnKernels, public ::testing::WithParamInterface<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Groups, RandomCellsOnCuda, ::testing::Range(uint64_t{0}, kNumGroups));

TEST_P(RandomCellsOnCuda, EqualNaiveOnTheLadder) {
  for_cells_of_group(
      GetParam(), random_cell, [](Cell cell) { return is_for(LayerKind::kHoisted, cell); },
      [](Cell cell, uint64_t) { expect_naive(LayerKind::kHoisted, cell); });
}

TEST_P(RandomCellsOnCuda, EqualNaiveByScan) {
  for_cells_of_group(
      GetParam(), random_cell_of_units, [](Cell cell) { return is_for(LayerKind::kScan, cell); },
      [](Cell cell, uint64_t) { expect_naive(LayerKind::kScan, cell); });
}

// The sizes and forms of one block, clusters, teams, and groups over the whole GPU. Rounding may cross a kink, but not
// for other numbers too.
TEST_P(RandomCellsOnCuda, MatchFloat64ByPersistent) {
  const std::array<LayerShape, 6> shapes = {{
      {.options = {.input_size = 5, .hidden_size = 40}},
      {.options = {.input_size = 5, .hidden_size = 200}, .restarts = Restarts::kSome},
      {.options = {.input_size = 5, .hidden_size = 256, .persistent_form = PersistentForm::kClustersAndTeams},
       .batch_size = 64},
      {.options = {.input_size = 5, .hidden_size = 1016}, .batch_size = 40},
      {.options = {.input_size = 5, .hidden_size = 120, .num_layers = 2}},
      {.options = {.input_size = 5, .hidden_size = 1016}, .batch_size = 20, .restarts = Restarts::kSome},
  }};
  for_cells_of_group(
      GetParam(), random_cell_of_sums, [](Cell cell) { return is_for(LayerKind::kPersistent, cell); },
      [&](Cell cell, uint64_t number) {
        LayerShape shape = shapes[number % shapes.size()];
        shape.options.cell = cell;
        const NumberClass& fp32 = kNumberClasses[0];
        constexpr double kTolerance = 2e-3;  // of programs with cancellation
        double least = INFINITY;
        for (uint64_t seed = 1; seed <= 4 && least > kTolerance; ++seed)
          least = std::min(least, largest_error(shape, fp32, seed));
        EXPECT_LE(least, kTolerance) << describe(shape, fp32);
      });
}

}  // namespace
}  // namespace rnnlab
