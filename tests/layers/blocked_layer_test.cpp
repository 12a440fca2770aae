// SPDX-License-Identifier: Apache-2.0
// Tests parts of blocked that the parity suite's small problems do not reach: batches divided among threads, several
// panels, several groups of steps.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <vector>

#include "golden.h"
#include "layers/blocked/panel.h"
#include "layers/blocked/work_split.h"
#include "layers/execution_path.h"
#include "layers/recurrent_layer.h"
#include "layers/refusals.h"

namespace rnnlab {
namespace {

struct Work {
  Cell cell;
  int64_t num_steps, batch_size, input_size, hidden_size;
  at::ScalarType type = at::kFloat;
  int num_threads = 2;
};

std::string name_of_work(const Work& work) {
  return fmt::format("{}_T{}_B{}_I{}_H{}_{}_threads{}", config::name_of(work.cell), work.num_steps, work.batch_size,
                     work.input_size, work.hidden_size, c10::toString(work.type), work.num_threads);
}

struct Trained {
  at::Tensor output, input_gradient;
  std::vector<at::Tensor> weight_gradients;
};

Trained train(RecurrentLayer& layer, const at::Tensor& data, const at::Tensor& upstream) {
  const at::Tensor input = data.detach().clone().requires_grad_();
  const RecurrentResult result = layer.forward(input);
  ((result.output * upstream).sum() + result.state.hidden.sum()).backward();
  Trained trained = {result.output.detach(), input.grad(), {}};
  for (const auto& weight : layer.parameters()) trained.weight_gradients.push_back(weight.grad());
  return trained;
}

void expect_near(const at::Tensor& got, const at::Tensor& wanted, double tolerance) {
  const double scale = std::max(1.0, wanted.abs().max().item<double>());
  EXPECT_LE((got.to(at::kDouble) - wanted).abs().max().item<double>(), tolerance * scale);
}

class BlockedLayer : public ::testing::TestWithParam<Work> {
 protected:
  void SetUp() override { at::set_num_threads(GetParam().num_threads); }
  void TearDown() override { at::set_num_threads(1); }
};
INSTANTIATE_TEST_SUITE_P(Works, BlockedLayer,
                         ::testing::Values(Work{Cell::kLstm, 21, 70, 28, 130}, Work{Cell::kGru, 21, 70, 28, 130},
                                           Work{Cell::kRnnTanh, 21, 70, 28, 130}, Work{Cell::kLstm, 9, 300, 5, 20},
                                           Work{Cell::kGru, 50, 3, 200, 200}, Work{Cell::kLstm, 40, 130, 64, 64},
                                           Work{Cell::kLstm, 12, 33, 31, 65, at::kBFloat16},
                                           Work{Cell::kGru, 12, 70, 31, 65, at::kBFloat16},
                                           Work{Cell::kRnnRelu, 12, 70, 30, 129},
                                           Work{Cell::kLstm, 10, 101, 17, 70, at::kFloat, 3},
                                           Work{Cell::kLstm, 10, 101, 17, 70, at::kFloat, 1},
                                           Work{Cell::kLstm, 30, 5, 17, 300, at::kFloat, 8},
                                           Work{Cell::kGru, 30, 33, 40, 300, at::kFloat, 16},
                                           Work{Cell::kRnnTanh, 30, 7, 40, 300, at::kFloat, 40},
                                           Work{Cell::kLstm, 20, 19, 17, 200, at::kBFloat16, 16}),
                         [](const auto& tested) { return name_of_work(tested.param); });

void expect_what_hoisted_gives(const Work& work) {
  const RecurrentOptions options = {
      .cell = work.cell, .input_size = work.input_size, .hidden_size = work.hidden_size, .num_layers = 2};
  const auto blocked = make_layer(LayerKind::kBlocked, options), hoisted = make_layer(LayerKind::kHoisted, options);
  blocked->to(work.type);
  hoisted->to(at::kDouble);
  copy_weights(*blocked, *hoisted);
  const at::Tensor input = at::randn({work.num_steps, work.batch_size, work.input_size}).to(work.type);
  const at::Tensor upstream = at::randn({work.num_steps, work.batch_size, work.hidden_size}).to(work.type);
  const Trained got = train(*blocked, input, upstream);
  const Trained wanted = train(*hoisted, input.to(at::kDouble), upstream.to(at::kDouble));
  const double tolerance = work.type == at::kFloat ? 1e-5 : 4e-2;
  expect_near(got.output, wanted.output, tolerance);
  expect_near(got.input_gradient, wanted.input_gradient, tolerance);
  for (size_t i = 0; i < wanted.weight_gradients.size(); ++i)
    expect_near(got.weight_gradients[i], wanted.weight_gradients[i], tolerance);
}

TEST_P(BlockedLayer, GivesWhatHoistedGivesInFloat64) { expect_what_hoisted_gives(GetParam()); }

// Products of oneDNN in this thread and in each of the others. On a processor with tile units they configure the tiles
// of these threads for themselves, and release them.
void use_tiles_elsewhere() {
  const at::Tensor factor = at::randn({72, 72}).to(at::kBFloat16);
  at::mm(factor, factor);
  at::parallel_for(0, at::get_num_threads(), 1, [&](int64_t, int64_t) { at::mm(factor, factor); });
}

// For minutes: RNNLAB_LONG_RUN=1 build/release/layers_tests --gtest_filter='BlockedProof*' --gtest_repeat=100
TEST(BlockedProof, HoldsBesideOtherUsersOfTheTiles) {
  const int num_rounds = std::getenv("RNNLAB_LONG_RUN") != nullptr ? 200 : 4;
  static std::mt19937 random(1);
  const auto up_to = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(random); };
  for (int round = 0; round < num_rounds; ++round) {
    at::set_num_threads(static_cast<int>(up_to(16)));
    const Work work = {std::array{Cell::kLstm, Cell::kGru, Cell::kRnnTanh}.at(static_cast<size_t>(round % 3)),
                       up_to(12),
                       up_to(70),
                       up_to(90),
                       up_to(300),
                       at::kBFloat16,
                       at::get_num_threads()};
    SCOPED_TRACE(name_of_work(work));
    use_tiles_elsewhere();
    expect_what_hoisted_gives(work);
  }
  at::set_num_threads(1);
}

TEST(Blocked, LeavesOutTheGradientsThatNobodyNeeds) {
  const auto layer = make_layer(LayerKind::kBlocked, {.input_size = 3, .hidden_size = 4});
  for (auto& parameter : layer->parameters()) parameter.requires_grad_(false);
  const at::Tensor input = at::randn({5, 2, 3}).requires_grad_();
  layer->forward(input).output.sum().backward();
  EXPECT_TRUE(input.grad().defined());
  for (const auto& parameter : layer->parameters()) EXPECT_FALSE(parameter.grad().defined());
}

TEST(Blocked, TellsItsPath) {
  const auto path_in = [](at::ScalarType type) {
    const auto layer = make_layer(LayerKind::kBlocked, {.input_size = 3, .hidden_size = 4});
    layer->to(type);
    return observe_execution_path([&] { layer->forward(at::randn({5, 2, 3}).to(type)).output.sum().backward(); }).path;
  };
  EXPECT_EQ(path_in(at::kDouble), "native loop, 1.2 GEMMs a step");
  if (!has_panel_products(at::kFloat)) GTEST_SKIP() << "needs a processor that oneDNN has block kernels for";
  EXPECT_THAT(path_in(at::kFloat), ::testing::ContainsRegex("\\(float32\\), AVX(2|-512|-512 BF16) steps"));
  if (!has_panel_products(at::kBFloat16)) GTEST_SKIP() << "needs a processor that has block kernels for bfloat16";
  EXPECT_THAT(path_in(at::kBFloat16),
              ::testing::HasSubstr(multiplies_by_tiles(at::kBFloat16) ? "(AMX) (bfloat16), " : "kernels (bfloat16), "));
}

TEST(Blocked, IsForTheCpu) {
  EXPECT_EQ(refusal_of(LayerKind::kBlocked, Processor::kCpu), std::nullopt);
  expect_golden(refusal_of(LayerKind::kBlocked, Processor::kGpu));
}

// Returns how the threads share an LSTM's forward pass.
WorkSplit split_of(int64_t batch_size, int64_t hidden_size, int64_t num_threads) {
  return split_work({1, batch_size, hidden_size / 64, 2 * hidden_size * 64 * 4}, num_threads);
}

TEST(WorkSplit, LeavesEverythingToOneThread) {
  EXPECT_EQ(split_of(64, 512, 1),
            (WorkSplit{.rows_of_group = 64, .blocks_of_part = 8, .num_groups = 1, .num_parts = 1}));
}

TEST(WorkSplit, CutsSequencesApartWhereEachThreadHasEnoughOfThem) {
  for (const auto& [batch_size, hidden_size] : {std::pair{128, 128}, {16, 64}, {128, 512}, {256, 1024}}) {
    const WorkSplit split = split_of(batch_size, hidden_size, 2);
    EXPECT_EQ(split.num_groups, 2) << batch_size << " x " << hidden_size;
    EXPECT_EQ(split.num_parts, 1) << batch_size << " x " << hidden_size;
  }
}

TEST(WorkSplit, CutsUnitsWhereSequencesAreFew) {
  EXPECT_EQ(split_of(1, 1024, 2),
            (WorkSplit{.rows_of_group = 1, .blocks_of_part = 8, .num_groups = 1, .num_parts = 2}));
  EXPECT_EQ(split_of(8, 1024, 16),
            (WorkSplit{.rows_of_group = 8, .blocks_of_part = 1, .num_groups = 1, .num_parts = 16}));
}

TEST(WorkSplit, GivesWorkToAllCoresOfAServer) {
  for (const int64_t hidden_size : {128, 512, 1024})
    for (const int64_t num_threads : {4, 8, 16, 64}) {
      const WorkSplit split = split_of(128, hidden_size, num_threads);
      EXPECT_GE(split.num_groups * split.num_parts, num_threads / 2) << hidden_size << " on " << num_threads;
      EXPECT_LE(split.num_groups * split.num_parts, num_threads) << hidden_size << " on " << num_threads;
    }
}

TEST(WorkSplit, CoversAllSequencesAndUnits) {
  for (const int64_t batch_size : {1, 7, 100})
    for (const int64_t hidden_size : {64, 320, 1024})
      for (const int64_t num_threads : {1, 3, 16, 61}) {
        const WorkSplit split = split_of(batch_size, hidden_size, num_threads);
        EXPECT_GE(split.num_groups * split.rows_of_group, batch_size);
        EXPECT_LT((split.num_groups - 1) * split.rows_of_group, batch_size);
        EXPECT_GE(split.num_parts * split.blocks_of_part, hidden_size / 64);
        EXPECT_LT((split.num_parts - 1) * split.blocks_of_part, hidden_size / 64);
      }
}

// Counts how often each block of units of each sequence has run, on any thread.
class StepLog {
 public:
  StepLog(int64_t batch_size, int64_t num_blocks)
      : num_blocks_(num_blocks), num_steps_(static_cast<size_t>(batch_size * num_blocks)) {}

  // Every unit of these sequences must have finished the same steps.
  void run(int64_t step, const kernels::Range& rows, const kernels::Range& blocks) {
    for (int64_t row = rows.first; row < rows.last; ++row)
      for (int64_t block = 0; block < num_blocks_; ++block) is_in_order_ = is_in_order_ && at(row, block) >= step;
    for (int64_t row = rows.first; row < rows.last; ++row)
      for (int64_t block = blocks.first; block < blocks.last; ++block)
        is_in_order_ = is_in_order_ && at(row, block)++ == step;
  }

  void expect_steps(int64_t num_steps) const {
    EXPECT_TRUE(is_in_order_);
    for (const std::atomic<int64_t>& count : num_steps_) EXPECT_EQ(count, num_steps);
  }

 private:
  std::atomic<int64_t>& at(int64_t row, int64_t block) {
    return num_steps_[static_cast<size_t>(row * num_blocks_ + block)];
  }

  int64_t num_blocks_;
  std::vector<std::atomic<int64_t>> num_steps_;
  std::atomic<bool> is_in_order_ = true;
};

class RunRecurrence : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { at::set_num_threads(GetParam()); }
  void TearDown() override { at::set_num_threads(1); }
};
INSTANTIATE_TEST_SUITE_P(Threads, RunRecurrence, ::testing::Values(1, 2, 3, 8, 16, 40),
                         ::testing::PrintToStringParamName());

TEST_P(RunRecurrence, RunsEveryStepOfEverySequenceOnceAndInOrder) {
  constexpr int64_t kSteps = 20, kBlocks = 3;
  for (const int64_t batch_size : {1, 5, 64, 301}) {
    StepLog log(batch_size, kBlocks);
    run_recurrence(
        {kSteps, batch_size, kBlocks, 1 << 20},
        [&](int64_t step, const kernels::Range& rows, const kernels::Range& blocks) { log.run(step, rows, blocks); });
    SCOPED_TRACE(batch_size);
    log.expect_steps(kSteps);
  }
}

TEST_P(RunRecurrence, EndsWhereOneThreadFails) {
  const auto fail_once = [](int64_t step, const kernels::Range&, const kernels::Range& blocks) {
    if (step == 3 && blocks.first == 0) throw std::runtime_error("no more memory");
  };
  EXPECT_THROW(run_recurrence({20, 2, 8, 1 << 20}, fail_once), std::runtime_error);
}

TEST_P(RunRecurrence, DoesNotWaitForItselfWithinAnotherParallelRegion) {
  StepLog log(2, 8);
  at::parallel_for(0, 2, 1, [&](int64_t first, int64_t) {
    if (first != 0) return;
    run_recurrence({20, 2, 8, 1 << 20}, [&](int64_t step, const kernels::Range& rows, const kernels::Range& blocks) {
      log.run(step, rows, blocks);
    });
  });
  log.expect_steps(20);
}

}  // namespace
}  // namespace rnnlab
