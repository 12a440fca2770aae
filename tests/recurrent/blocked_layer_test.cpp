// What the parity suite's small problems do not reach of blocked: batches cut between threads, several panels, several
// groups of steps.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recurrent/blocked/panel.h"
#include "recurrent/blocked/work_split.h"
#include "recurrent/execution_path.h"
#include "recurrent/recurrent_layer.h"

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

class BlockedLayer : public testing::TestWithParam<Work> {
 protected:
  void SetUp() override { at::set_num_threads(GetParam().num_threads); }
  void TearDown() override { at::set_num_threads(1); }
};
INSTANTIATE_TEST_SUITE_P(Works, BlockedLayer,
                         testing::Values(Work{Cell::kLstm, 21, 70, 28, 130}, Work{Cell::kGru, 21, 70, 28, 130},
                                         Work{Cell::kRnnTanh, 21, 70, 28, 130}, Work{Cell::kLstm, 9, 300, 5, 20},
                                         Work{Cell::kGru, 50, 3, 200, 200}, Work{Cell::kLstm, 40, 130, 64, 64},
                                         Work{Cell::kLstm, 12, 33, 31, 65, at::kBFloat16},
                                         Work{Cell::kGru, 12, 70, 31, 65, at::kBFloat16},
                                         Work{Cell::kRnnRelu, 12, 70, 30, 129},
                                         Work{Cell::kLstm, 10, 101, 17, 70, at::kFloat, 3},
                                         Work{Cell::kLstm, 10, 101, 17, 70, at::kFloat, 1}),
                         [](const auto& tested) { return name_of_work(tested.param); });

TEST_P(BlockedLayer, GivesWhatHoistedGivesInFloat64) {
  const Work& work = GetParam();
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
  EXPECT_THAT(path_in(at::kFloat),
              testing::MatchesRegex("oneDNN's block kernels \\(float32\\), AVX(2|-512|-512 BF16) steps"));
}

TEST(Blocked, IsForTheCpu) {
  EXPECT_EQ(refusal(LayerKind::kBlocked, Processor::kCpu), std::nullopt);
  EXPECT_EQ(refusal(LayerKind::kBlocked, Processor::kGpu),
            "layer: blocked is made of kernels for the CPU; on a GPU use layer: hoisted or cudnn");
}

TEST(WorkSplit, CutsABatchWhoseBlocksAreWorthAPassOverTheWeights) {
  at::set_num_threads(2);
  const auto splits = [](int64_t batch_size, int64_t hidden_size) {
    return splits_batch({1, batch_size, hidden_size / 64, 2 * hidden_size * 64 * 4});
  };
  EXPECT_FALSE(splits(63, 512));
  EXPECT_TRUE(splits(64, 512));
  EXPECT_FALSE(splits(15, 64));
  EXPECT_TRUE(splits(16, 64));
  at::set_num_threads(1);
}

TEST(WorkSplit, RunsEveryStepOfEverySequenceOnceAndInOrder) {
  at::set_num_threads(2);
  for (const int64_t batch_size : {1, 5, 64, 301}) {
    constexpr int64_t kSteps = 4, kBlocks = 3;
    std::vector<int64_t> next(static_cast<size_t>(batch_size * kBlocks));
    run_recurrence({kSteps, batch_size, kBlocks, 1 << 20},
                   [&](int64_t step, const kernels::Range& rows, const kernels::Range& blocks) {
                     for (int64_t row = rows.first; row < rows.last; ++row)
                       for (int64_t block = blocks.first; block < blocks.last; ++block)
                         EXPECT_EQ(next[static_cast<size_t>(row * kBlocks + block)]++, step);
                   });
    EXPECT_EQ(next, std::vector<int64_t>(next.size(), kSteps)) << batch_size;
  }
  at::set_num_threads(1);
}

}  // namespace
}  // namespace rnnlab
