// SPDX-License-Identifier: Apache-2.0
// Tests `persistent` for each cell in each class of precision, over the parity suite's options, over sizes and batches
// that its small problems do not reach, and with options that it refuses.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <utility>
#include <vector>

#include "base/error.h"
#include "golden.h"
#include "layers/half_pass_count.h"
#include "layers/layer_under_test.h"
#include "layers/on_cuda.h"
#include "layers/persistent/persistent_launch.h"
#include "layers/persistent/persistent_pass.h"
#include "layers/persistent_check.h"
#include "layers/refusals.h"

namespace rnnlab {
namespace {

using reference::Lengths;
using reference::Problem;
using reference::Shape;
using reference::Start;
using ::testing::HasSubstr;

TEST(PersistentRefusal, NamesWhatTheKernelCannotDo) {
  const auto reason = [](const RecurrentOptions& options) { return refusal_of(LayerKind::kPersistent, options); };
  for (const Cell cell : kCells)
    for (const int64_t size : {8, 64, 72, 128, 1024, 1536})
      EXPECT_EQ(reason({.cell = cell, .hidden_size = size}), std::nullopt);
  EXPECT_EQ(reason({.hidden_size = 1024, .num_layers = 3, .bidirectional = true, .dropout = 0.5}), std::nullopt);
  expect_golden(reason({.cell = Cell::kGru, .hidden_size = 128, .reset_gate = ResetGate::kBefore}));
  for (const Cell cell : {Cell::kLstm, Cell::kGru})
    EXPECT_EQ(reason({.cell = cell, .hidden_size = 128, .activation = Activation::kRelu}), std::nullopt);
  for (const int64_t size : {1, 12, 100, 1540, 1544}) expect_golden(reason({.hidden_size = size}));
}

TEST(PersistentRefusal, EachFormHasItsSizes) {
  struct Sizes {
    PersistentForm form;
    std::vector<int64_t> supported;
    int64_t refused;
  };
  for (const auto& [form, supported, refused] :
       {Sizes{PersistentForm::kClusters, {1024}, 1032}, Sizes{PersistentForm::kClustersAndTeams, {1024}, 1032},
        Sizes{PersistentForm::kBlocks, {8, 64, 128}, 136}}) {
    const auto reason = [&form = form](int64_t size) {
      return refusal_of(LayerKind::kPersistent, {.hidden_size = size, .persistent_form = form});
    };
    for (const int64_t size : supported) EXPECT_EQ(reason(size), std::nullopt) << size;
    expect_golden(reason(refused));
  }
}

TEST(PersistentRefusal, AGpuWithoutClustersHasSizesForTheWholeGpu) {
  const Gpu gpu = {.name = "NVIDIA A100", .capability = {8, 0}, .has_own_kernels = true};
  const auto reason = [&](const RecurrentOptions& options, Precision precision) {
    return refusal_of(LayerKind::kPersistent, LayerWork{.options = options, .precision = precision, .gpu = gpu});
  };
  EXPECT_EQ(refusal_of(LayerKind::kPersistent, gpu), std::nullopt);
  EXPECT_EQ(reason({.hidden_size = 1024}, Precision::kTf32), std::nullopt);
  EXPECT_EQ(reason({.hidden_size = 128}, Precision::kFp32), std::nullopt);
  expect_golden(reason({.hidden_size = 1032}, Precision::kTf32));
  expect_golden(reason({.hidden_size = 136}, Precision::kFp32));
  expect_golden(reason({.hidden_size = 128, .persistent_form = PersistentForm::kClusters}, Precision::kTf32));
}

TEST(PersistentRefusal, IsForAGpu) {
  expect_golden(refusal_of(LayerKind::kPersistent, Processor::kCpu));
  EXPECT_EQ(refusal_of(LayerKind::kPersistent, Processor::kGpu), std::nullopt);
  const auto layer = make_layer(LayerKind::kPersistent, {.input_size = 3, .hidden_size = 128});
  expect_golden(user_error_of([&] { layer->forward(at::randn({2, 2, 3})); }));
}

// A relu whose sums stay away from its kink, as persistent_check.h has them: weights of a sixth.
Problem calmed(Problem problem) {
  if (problem.options.cell != Cell::kRnnRelu) return problem;
  for (reference::Weights& weights : problem.weights)
    for (reference::Matrix* matrix : {&weights.weight_ih, &weights.weight_hh})
      for (double& value : matrix->values) value /= 6;
  return problem;
}

class PersistentOnHopper : public ByOwnKernels {
 protected:
  static void expect_the_reference(const RecurrentOptions& options, const Shape& shape, const NumberClass& numbers) {
    const Place place = {numbers.type, at::Device(at::kCUDA)};
    const Problem given = rounded(calmed(reference::random_problem(options, shape)), numbers.type);
    const auto upstream = rounded(reference::random_upstream(given), numbers.type);
    const auto layer = make_layer_for(LayerKind::kPersistent, given, place);
    const TensorFloat32 products(numbers);
    expect_near(run(*layer, given, upstream, place), run_reference(given, upstream), numbers.tolerance);
  }

  static void expect_float64(const LayerShape& shape) {
    for (const Cell cell : kCells)
      for (const NumberClass& numbers : kNumberClasses) {
        if (shape.options.hidden_size > largest_hidden_size(numbers)) continue;
        LayerShape of_cell = shape;
        of_cell.options.cell = cell;
        EXPECT_LE(largest_error(of_cell, numbers, 1), numbers.tolerance) << describe(of_cell, numbers);
      }
  }
};

TEST_F(PersistentOnHopper, EveryOptionMatchesTheReference) {
  for (const Cell cell : kCells)
    for (RecurrentOptions options : reference::stacks_of({.cell = cell, .input_size = 3, .hidden_size = 72}))
      for (const Start start : {Start::kZeros, Start::kGiven})
        for (const Lengths lengths : {Lengths::kWhole, Lengths::kVaried})
          for (const bool batch_first : {false, true})
            for (const NumberClass& numbers : kNumberClasses) {
              options.batch_first = batch_first;
              SCOPED_TRACE(fmt::format("{}, layers {}, bidirectional {}, given {}, varied {}, batch first {}, {}",
                                       config::name_of(cell), options.num_layers, options.bidirectional,
                                       start == Start::kGiven, lengths == Lengths::kVaried, batch_first, numbers.name));
              expect_the_reference(options, {.start = start, .lengths = lengths}, numbers);
            }
}

// Each size that there is a kernel for, and the next smaller and larger one that pads.
TEST_F(PersistentOnHopper, EverySizeMatchesFloat64) {
  for (const int64_t size : {32, 64, 96, 128, 192, 256, 384, 512, 640, 768, 896, 1024})
    for (const int64_t hidden_size : {size - 8, size, size + 8})
      expect_float64({.options = {.input_size = 5, .hidden_size = hidden_size}});
}

// Layers that no cluster has room for, or not for as many sequences: groups of blocks over the whole GPU hold them, in
// groups of 16 sequences, of 32, and of two times 32 that take turns, the last one not full.
TEST_F(PersistentOnHopper, LargeLayersMatchFloat64) {
  for (const int64_t size : {520, 768, 904, 1024, 1032, 1280, 1528, 1536})
    for (const int64_t batch_size : {2, 40, 75, 100, 130})
      expect_float64({.options = {.input_size = 3, .hidden_size = size}, .num_steps = 7, .batch_size = batch_size});
}

// At sizes where each of them takes another kernel.
TEST_F(PersistentOnHopper, EveryVariantMatchesFloat64) {
  for (const PersistentForm form : {PersistentForm::kClusters, PersistentForm::kClustersAndTeams})
    for (const int64_t size : {128, 256, 512, 768, 1024})
      expect_float64({.options = {.input_size = 3, .hidden_size = size, .persistent_form = form},
                      .num_steps = 5,
                      .batch_size = 64});
}

// The last group of a batch has one sequence, or is full; there are fewer groups than SMs, or more.
TEST_F(PersistentOnHopper, GroupsOfABlockMatchFloat64) {
  for (const int64_t batch_size : {1, 5, 64, 1100})
    for (const int64_t size : {8, 32, 40, 64, 72, 128})
      expect_float64({.options = {.input_size = 2, .hidden_size = size, .persistent_form = PersistentForm::kBlocks},
                      .num_steps = 5,
                      .batch_size = batch_size});
}

class StartsOnHopper : public PersistentOnHopper, public ::testing::WithParamInterface<PersistentForm> {
 protected:
  static void expect_at(const RecurrentOptions& options, int64_t batch_size, int64_t num_steps = 12) {
    expect_float64({.options = options, .num_steps = num_steps, .batch_size = batch_size, .restarts = Restarts::kSome});
  }
};
INSTANTIATE_TEST_SUITE_P(Forms, StartsOnHopper,
                         ::testing::Values(PersistentForm::kAll, PersistentForm::kClusters,
                                           PersistentForm::kClustersAndTeams));

TEST_P(StartsOnHopper, MatchFloat64) {
  for (const auto& [size, batch_size] : {std::pair(72, 9), {128, 64}, {256, 9}, {512, 64}, {1024, 9}})
    expect_at({.input_size = 5, .hidden_size = size, .persistent_form = GetParam()}, batch_size);
}

TEST_F(StartsOnHopper, MatchFloat64InGroupsOfABlock) {
  for (const int64_t size : {8, 40, 128})
    expect_at({.input_size = 2, .hidden_size = size, .persistent_form = PersistentForm::kBlocks}, 5);
}

TEST_F(StartsOnHopper, MatchFloat64OverTheWholeGpuInTurns) {
  for (const int64_t batch_size : {40, 130}) expect_at({.input_size = 3, .hidden_size = 1280}, batch_size);
}

// Parts of these layers run at the same time.
TEST_F(StartsOnHopper, MatchFloat64InStacks) {
  for (const int64_t size : {72, 128, 256})
    expect_at({.input_size = 40, .hidden_size = size, .num_layers = 3}, 16, 100);
}

TEST_F(PersistentOnHopper, StartsMatchFloat64WithEveryOption) {
  for (const bool bidirectional : {false, true})
    for (const Ends ends : {Ends::kWhole, Ends::kVaried})
      for (const States states : {States::kZeros, States::kGiven})
        for (const int64_t hidden_size : {40, 128, 200})
          expect_float64({.options = {.input_size = 28,
                                      .hidden_size = hidden_size,
                                      .num_layers = 2,
                                      .bidirectional = bidirectional},
                          .num_steps = 11,
                          .ends = ends,
                          .states = states,
                          .restarts = Restarts::kSome});
}

TEST_F(PersistentOnHopper, NotANumberStaysInItsSequence) {
  const std::vector<std::pair<int64_t, int64_t>> sizes_and_batches = {{24, 20},   {64, 700},   {128, 20},
                                                                      {1024, 20}, {1024, 130}, {1536, 40}};
  for (const Cell cell : kCells)
    for (const auto& [size, batch_size] : sizes_and_batches) {
      const auto layer = make_layer(LayerKind::kPersistent, {.cell = cell, .input_size = 3, .hidden_size = size});
      expect_nan_stays_in_its_sequence(*layer, batch_size);
    }
}

// A cluster of 128 units multiplies up to 32 inputs itself. It reads four at a time if the number allows it, and sets
// missing initial states to 0.
TEST_F(PersistentOnHopper, FewInputsMatchFloat64) {
  for (const int64_t input_size : {1, 3, 28, 32, 33})
    for (const int64_t hidden_size : {104, 128})
      for (const int64_t batch_size : {9, 128})
        for (const States states : {States::kZeros, States::kGiven})
          expect_float64({.options = {.input_size = input_size, .hidden_size = hidden_size},
                          .num_steps = 5,
                          .batch_size = batch_size,
                          .states = states});
}

TEST_F(PersistentOnHopper, FewInputsMatchFloat64WithEveryOption) {
  for (const bool bidirectional : {false, true})
    for (const Ends ends : {Ends::kWhole, Ends::kVaried})
      for (const int64_t num_steps : {1, 5, 70})
        expect_float64(
            {.options = {.input_size = 28, .hidden_size = 128, .num_layers = 2, .bidirectional = bidirectional},
             .num_steps = num_steps,
             .batch_size = 9,
             .ends = ends,
             .states = States::kZeros});
}

// Two layers of up to 128 units run by one kernel: with and without padding, on few inputs and on more, one step,
// groups that are not full, and a third layer that is not in a pair.
TEST_F(PersistentOnHopper, PairsOfLayersMatchFloat64) {
  for (const int64_t hidden_size : {72, 96, 104, 128})
    for (const int64_t num_layers : {2, 3, 4})
      for (const int64_t input_size : {28, 40})
        expect_float64({.options = {.input_size = input_size, .hidden_size = hidden_size, .num_layers = num_layers},
                        .num_steps = 5,
                        .batch_size = 9});
  for (const int64_t num_steps : {1, 2, 70})
    for (const int64_t batch_size : {1, 60, 128})
      expect_float64({.options = {.input_size = 3, .hidden_size = 128, .num_layers = 2},
                      .num_steps = num_steps,
                      .batch_size = batch_size,
                      .ends = Ends::kVaried,
                      .states = States::kZeros});
}

// In the TF32 class, numbers beyond float16's range.
TEST_F(PersistentOnHopper, FewInputsOfAnyMagnitudeMatchFloat64) {
  for (const NumberClass& numbers : {kNumberClasses[1], kNumberClasses[3]})
    for (const double magnitude : {1e-6, 1e4, 1e6}) {
      const LayerShape shape = {
          .options = {.input_size = 28, .hidden_size = 128}, .num_steps = 5, .magnitude = magnitude};
      EXPECT_LE(largest_error(shape, numbers, 1), numbers.tolerance) << describe(shape, numbers) << " " << magnitude;
    }
}

TEST_F(PersistentOnHopper, FewInputsMayBeginAnywhereInMemory) {
  const auto layer = make_layer(LayerKind::kPersistent, {.input_size = 28, .hidden_size = 128});
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const TensorFloat32 products(kNumberClasses[1]);
    layer->to(at::kCUDA, type);
    const at::Tensor input = at::randn(4 * 9 * 28 + 1, at::kCUDA).to(type).slice(0, 1).view({4, 9, 28});
    EXPECT_TRUE(at::equal(layer->forward(input).output, layer->forward(input.clone()).output)) << type;
  }
}

TEST_F(PersistentOnHopper, NotANumberAmongFewInputsStaysInItsSequence) {
  const TensorFloat32 products(kNumberClasses[1]);
  for (const Cell cell : kCells) {
    const auto layer = make_layer(LayerKind::kPersistent, {.cell = cell, .input_size = 3, .hidden_size = 128});
    expect_nan_stays_in_its_sequence(*layer, 20, at::kFloat);
  }
}

// Products that are large enough for float16 in the TF32 class, of a layer on the inputs and of one on hidden states;
// and of inputs whose columns are filled up.
TEST_F(PersistentOnHopper, LargeProductsMatchFloat64) {
  for (const int64_t input_size : {512, 500})
    expect_float64({.options = {.input_size = input_size, .hidden_size = 512, .num_layers = 2},
                    .num_steps = 32,
                    .batch_size = 96});
}

// Parts of the steps of one layer run at the same time as parts of the next layer: by each family of kernels, with
// lengths, and with large products by float16.
TEST_F(PersistentOnHopper, LayersSideBySideMatchFloat64) {
  for (const int64_t size : {40, 136, 512, 768})
    expect_float64({.options = {.input_size = 5, .hidden_size = size, .num_layers = 3},
                    .num_steps = 50,
                    .batch_size = 16,
                    .states = States::kGiven});
  expect_float64({.options = {.input_size = 5, .hidden_size = 128, .num_layers = 2},
                  .num_steps = 70,
                  .batch_size = 3,
                  .ends = Ends::kVaried});
  expect_float64(
      {.options = {.input_size = 512, .hidden_size = 512, .num_layers = 2}, .num_steps = 64, .batch_size = 56});
}

// One sequence, groups that are not full, blocks of 4 warps, teams, wide groups, and more groups than fit at once.
TEST_F(PersistentOnHopper, EveryBatchMatchesFloat64) {
  for (const int64_t batch_size : {1, 7, 8, 60, 124, 130, 250, 300})
    for (const int64_t size : {184, 256, 376, 504, 512, 1024})
      expect_float64({.options = {.input_size = 2, .hidden_size = size}, .num_steps = 5, .batch_size = batch_size});
  expect_float64({.options = {.input_size = 1, .hidden_size = 128}, .num_steps = 1, .batch_size = 1});
}

TEST_F(PersistentOnHopper, AutocastMatchesTheReference) {
  for (const Cell cell : kCells) {
    const RecurrentOptions options = {.cell = cell, .input_size = 3, .hidden_size = 128, .num_layers = 2};
    const Problem given = rounded(calmed(reference::random_problem(options, {.start = Start::kGiven})), at::kBFloat16);
    const auto upstream = rounded(reference::random_upstream(given), at::kBFloat16);
    const Place place = {at::kFloat, at::Device(at::kCUDA)};
    const auto layer = make_layer_for(LayerKind::kPersistent, given, place);
    const Autocast autocast(at::kCUDA, at::kBFloat16);
    expect_near(run(*layer, given, upstream, place), run_reference(given, upstream), kBfloat16);
  }
}

// Gradients far below and above float16's range keep their values, because each step's products are scaled.
TEST_F(PersistentOnHopper, GradientsOfAnyMagnitudeComeThrough) {
  for (const Cell cell : kCells)
    for (const NumberClass& numbers : {kNumberClasses[0], kNumberClasses[1]}) {
      const int64_t size = numbers.allows_tf32 ? 1024 : 256;
      const auto layer = make_layer(LayerKind::kPersistent, {.cell = cell, .input_size = 8, .hidden_size = size});
      expect_gradients_of_any_magnitude(*layer, numbers);
    }
}

TEST_F(PersistentOnHopper, SaysOnceThatAPassBeforeGaveUp) {
  const auto layer = make_layer(LayerKind::kPersistent, {.input_size = 3, .hidden_size = 128});
  layer->to(at::kCUDA);
  const auto pass = [&] { layer->forward(at::randn({2, 2, 3}, at::kCUDA)); };
  *timeout_flag() = 1;
  EXPECT_THAT(user_error_of(pass), HasSubstr("timed out"));
  EXPECT_EQ(user_error_of(pass), "");
}

TEST_F(PersistentOnHopper, RefusesInFloat32WhatHasRoomInSixteenBitsOnly) {
  const auto layer = make_layer(LayerKind::kPersistent, {.input_size = 3, .hidden_size = 1032});
  layer->to(at::kCUDA);
  const TensorFloat32 products(kNumberClasses[0]);
  EXPECT_THAT(user_error_of([&] { layer->forward(at::randn({2, 2, 3}, at::kCUDA)); }), HasSubstr("at most 1024 units"));
}

TEST_F(PersistentOnHopper, PassesTheFirstCheckOfAnUnknownGpu) {
  for (const NumberClass& numbers : kNumberClasses) {
    const TensorFloat32 products(numbers);
    EXPECT_LE(largest_difference_from_fused({c10::kCUDA, 0}, numbers.type), 1) << numbers.name;
  }
}

TEST_F(PersistentOnHopper, TheFirstCheckOfAnUnknownGpuIncludesHalfGradients) {
  const TensorFloat32 products(kNumberClasses[1]);
  const auto check = [] { largest_difference_from_fused({c10::kCUDA, 0}, at::kFloat); };
  EXPECT_EQ(num_half_passes_during(check), 3) << "of an LSTM, a GRU and a peephole LSTM";
}

TEST_F(PersistentOnHopper, RefusesFloat64) {
  const auto layer = make_layer(LayerKind::kPersistent, {.input_size = 3, .hidden_size = 128});
  layer->to(at::kCUDA);
  layer->to(at::kDouble);
  const at::Tensor input = at::randn({2, 2, 3}, at::device(at::kCUDA).dtype(at::kDouble));
  EXPECT_THAT(user_error_of([&] { layer->forward(input); }), HasSubstr("not support float64"));
}

// A layer that runs one family of kernels.
struct Family {
  NumberClass numbers;
  Cell cell = Cell::kLstm;
  int64_t hidden_size = 0;
  int64_t batch_size = 0;
};

void PrintTo(const Family& family, std::ostream* out) {
  *out << fmt::format("{}_{}_{}_{}", family.numbers.name, config::name_of(family.cell), family.hidden_size,
                      family.batch_size);
}

// Sizes and batches that take clusters of one team, of smaller blocks and of two teams; and, over the whole GPU, of
// each size of its kernels groups of 16 sequences, of 32, and of two times 32 in turns.
std::vector<Family> families() {
  const std::vector<std::pair<int64_t, int64_t>> sizes = {{24, 9},     {64, 600},  {72, 9},    {128, 1100}, {256, 9},
                                                          {512, 9},    {512, 121}, {512, 250}, {768, 16},   {768, 64},
                                                          {768, 96},   {768, 250}, {1024, 9},  {1024, 64},  {1024, 70},
                                                          {1024, 130}, {1536, 16}, {1536, 20}, {1536, 40}};
  std::vector<Family> list;
  for (const NumberClass& numbers : kNumberClasses)
    for (const auto& [hidden_size, batch_size] : sizes)
      for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
        if (hidden_size <= largest_hidden_size(numbers)) list.push_back({numbers, cell, hidden_size, batch_size});
  return list;
}

class PersistentFamilies : public ByOwnKernels, public ::testing::WithParamInterface<Family> {};
INSTANTIATE_TEST_SUITE_P(All, PersistentFamilies, ::testing::ValuesIn(families()), ::testing::PrintToStringParamName());

TEST_P(PersistentFamilies, RunOnce) {
  const auto& [numbers, cell, hidden_size, batch_size] = GetParam();
  const TensorFloat32 products(numbers);
  const auto layer = make_layer(LayerKind::kPersistent, {.cell = cell, .input_size = 8, .hidden_size = hidden_size});
  layer->to(at::kCUDA, numbers.type);
  layer->forward(at::randn({3, batch_size, 8}, at::device(at::kCUDA)).to(numbers.type)).output.sum().backward();
  for (const at::Tensor& parameter : layer->parameters()) EXPECT_TRUE(parameter.grad().isfinite().all().item<bool>());
}

}  // namespace
}  // namespace rnnlab
