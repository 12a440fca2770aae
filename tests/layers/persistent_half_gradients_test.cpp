// SPDX-License-Identifier: Apache-2.0
// Tests gates' gradients that backward kernels of the TF32 class write as float16 for large products
// (shared/half_gradients.h): the kernel that brings all exponents to one, and layers by each form of the kernels.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <tuple>
#include <utility>
#include <vector>

#include "layers/half_pass_count.h"
#include "layers/on_cuda.h"
#include "layers/persistent/operand_conversion.h"
#include "layers/persistent/persistent_layer.h"
#include "layers/persistent/persistent_program.h"
#include "layers/persistent/shared/passes.h"
#include "layers/persistent_check.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {
namespace {

using kernels::kExponentBias;
using kernels::kSequencesOfExponent;
using kernels::kUnitsOfExponent;

constexpr const NumberClass& kTf32 = kNumberClasses[1];

// Gradients of a pass on the CPU, and what the kernel changes them to.
struct HalfGradients {
  at::Tensor half;       // (T, B, columns * H)
  at::Tensor exponents;  // (T, B / kSequencesOfExponent, H / kUnitsOfExponent), rounded up
  at::Tensor unscale;    // (2), set by the kernel
};

struct GradientShape {
  int64_t num_steps = 0, batch_size = 0, hidden_size = 0, columns = 0;
};

int64_t num_rows(const GradientShape& shape) {
  return (shape.batch_size + kSequencesOfExponent - 1) / kSequencesOfExponent;
}

// Returns the exponent of each gradient.
at::Tensor of_gradients(const at::Tensor& exponents, const GradientShape& shape) {
  return exponents.repeat_interleave(kSequencesOfExponent, 1)
      .narrow(1, 0, shape.batch_size)
      .repeat_interleave(kUnitsOfExponent, 2)
      .repeat({1, 1, shape.columns});
}

// Draws gradients whose exponents are from common - 40 to `common`. Of every fifth place of the table all gradients are
// 0, and its exponent has nothing to do with the others.
HalfGradients draw(const GradientShape& shape, int common) {
  at::manual_seed(1);
  const std::vector<int64_t> table = {shape.num_steps, num_rows(shape), shape.hidden_size / kUnitsOfExponent};
  at::Tensor exponents = at::randint(common - 40, common + 1, table, at::kInt);
  const at::Tensor is_zero = at::arange(exponents.numel()).view(table) % 5 == 2;
  exponents = at::where(is_zero, at::randint(-119, 119, table, at::kInt), exponents).to(at::kChar);
  const at::Tensor numbers = at::randn({shape.num_steps, shape.batch_size, shape.columns * shape.hidden_size}) * 500;
  const at::Tensor half = at::where(of_gradients(is_zero, shape), at::zeros_like(numbers), numbers).to(at::kHalf);
  return {half, exponents, {}};
}

// Returns 2 to the power of these exponents, exactly; of those below -126, 2 to the power of -126.
at::Tensor powers_of_two(const at::Tensor& exponents) {
  constexpr int kLeast = -126;
  std::vector<double> powers;
  for (int exponent = kLeast; exponent <= 0; ++exponent) powers.push_back(std::ldexp(1.0, exponent));
  return at::tensor(powers, at::kDouble).index({exponents.clamp_min(kLeast) - kLeast});
}

// Returns what the kernel must do, computed in float64.
HalfGradients with_common(const HalfGradients& given, const GradientShape& shape, int common) {
  const at::Tensor below = of_gradients(given.exponents, shape).to(at::kLong) - common;
  return {(given.half.to(at::kDouble) * powers_of_two(below.clamp_max(0))).to(at::kHalf),
          given.exponents.clamp_min(common), at::tensor({std::ldexp(1.0, common), 0.0}).to(at::kFloat)};
}

// What the tests of the kernel expect has the same numbers as before, rounded to float16 once.
TEST(CommonExponent, IsExpectedToKeepTheNumbers) {
  constexpr GradientShape kShape = {2, 13, 72, 4};
  constexpr int kCommon = 7;
  const HalfGradients given = draw(kShape, kCommon), wanted = with_common(given, kShape, kCommon);
  const auto numbers_of = [&](const HalfGradients& of) {
    const at::Tensor below = of_gradients(of.exponents, kShape).to(at::kLong) - kCommon;
    return of.half.to(at::kDouble) * powers_of_two(below.clamp_max(0));
  };
  EXPECT_TRUE(at::allclose(numbers_of(wanted), numbers_of(given), 0x1p-11, 0x1p-25));
  EXPECT_FALSE(at::equal(wanted.half, given.half));
  EXPECT_EQ(wanted.exponents.min().item<int>(), kCommon);
  EXPECT_EQ(wanted.unscale[0].item<float>(), 128);
}

class CommonExponentOnCuda : public ByOwnKernels {
 protected:
  static HalfGradients by_kernel(const HalfGradients& given, const GradientShape& shape,
                                 const std::vector<int>& largest_exponents) {
    const at::Tensor largest = at::tensor(largest_exponents, at::kInt).cuda();
    HalfGradients on_gpu = {given.half.cuda(), given.exponents.cuda(),
                            at::full({2}, NAN, at::device(at::kCUDA).dtype(at::kFloat))};
    kernels::take_common_exponent({.half = on_gpu.half.mutable_data_ptr(),
                                   .exponents = on_gpu.exponents.mutable_data_ptr<int8_t>(),
                                   .largest_exponents = largest.const_data_ptr<int32_t>(),
                                   .num_passes = static_cast<int>(largest.size(0)),
                                   .num_steps = shape.num_steps,
                                   .batch_size = shape.batch_size,
                                   .hidden_size = shape.hidden_size,
                                   .columns = shape.columns,
                                   .unscale = on_gpu.unscale.mutable_data_ptr<float>()},
                                  at::cuda::getCurrentCUDAStream().stream());
    return {on_gpu.half.cpu(), on_gpu.exponents.cpu(), on_gpu.unscale.cpu()};
  }

  static void expect_equal(const HalfGradients& got, const HalfGradients& wanted) {
    EXPECT_TRUE(at::allclose(got.half.to(at::kDouble), wanted.half.to(at::kDouble), 0, 0, /*equal_nan=*/true));
    EXPECT_TRUE(at::equal(got.exponents, wanted.exponents));
    EXPECT_TRUE(at::equal(got.unscale, wanted.unscale));
  }
};

// The columns of an LSTM and of a GRU, and of a GRU's gates alone; batches of whole rows of the table and of others;
// and more units than a block of the kernel has threads for.
TEST_F(CommonExponentOnCuda, AllGradientsTakeTheLargestExponent) {
  for (const GradientShape& shape :
       {GradientShape{3, 16, 64, 4}, {2, 13, 72, 4}, {2, 13, 72, 3}, {1, 5, 8, 1}, {2, 9, 1536, 4}})
    for (const int common : {-79, 0, 7, 110}) {
      SCOPED_TRACE(fmt::format("T {}, B {}, H {}, {} columns, exponent {}", shape.num_steps, shape.batch_size,
                               shape.hidden_size, shape.columns, common));
      const HalfGradients given = draw(shape, common);
      expect_equal(by_kernel(given, shape, {common + kExponentBias}), with_common(given, shape, common));
    }
}

TEST_F(CommonExponentOnCuda, TheLargestOfSeveralPassesCounts) {
  constexpr GradientShape kShape = {6, 13, 72, 4};
  const HalfGradients given = draw(kShape, -3);
  const HalfGradients wanted = with_common(given, kShape, -3);
  constexpr int kLargest = kExponentBias - 3, kNothing = 0;
  expect_equal(by_kernel(given, kShape, {kNothing, kLargest - 30, kLargest}), wanted);
  expect_equal(by_kernel(given, kShape, {kLargest, kNothing, kLargest - 1}), wanted);
}

TEST_F(CommonExponentOnCuda, ASecondCallChangesNothing) {
  constexpr GradientShape kShape = {2, 13, 72, 4};
  const std::vector<int> largest = {kExponentBias + 7};
  const HalfGradients once = by_kernel(draw(kShape, 7), kShape, largest);
  expect_equal(by_kernel(once, kShape, largest), once);
}

TEST_F(CommonExponentOnCuda, ZerosStayZerosAndTheirScaleIsOne) {
  constexpr GradientShape kShape = {2, 13, 72, 3};
  HalfGradients given = draw(kShape, 0);
  given.half.zero_();
  const HalfGradients got = by_kernel(given, kShape, {0, 0});
  EXPECT_TRUE(at::equal(got.half, given.half));
  EXPECT_TRUE(at::equal(got.unscale, at::tensor({1.0F, 0.0F})));
}

// Even where the factor between two exponents is too small for float32.
TEST_F(CommonExponentOnCuda, WhatIsNotFiniteStaysWhatItIs) {
  constexpr GradientShape kShape = {1, 8, 32, 4};
  constexpr int kLargest = 110;
  HalfGradients given = draw(kShape, kLargest);
  given.exponents.fill_(kLargest - 12);
  given.exponents[0][0][1] = -110;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const int64_t unit : {0, 8}) {
    given.half[0][3][unit] = kInfinity;
    given.half[0][4][unit + 1] = -kInfinity;
    given.half[0][5][unit + 2] = std::nan("");
  }
  const HalfGradients got = by_kernel(given, kShape, {kLargest + kExponentBias});
  for (const int64_t unit : {0, 8}) {
    EXPECT_EQ(got.half[0][3][unit].item<double>(), kInfinity);
    EXPECT_EQ(got.half[0][4][unit + 1].item<double>(), -kInfinity);
    EXPECT_TRUE(std::isnan(got.half[0][5][unit + 2].item<double>()));
  }
  EXPECT_EQ(got.half.isfinite().logical_not().sum().item<int64_t>(), 6);
}

}  // namespace

namespace {

// The groups of a backward kernel on a GPU of 132 multiprocessors of compute capability 9.0, such as an H200.
struct GroupsOfBackward {
  int64_t count = 0;
  int num_blocks = 0;  // of a group
};

// A layer whose backward kernel writes float16.
struct HalfCase {
  Cell cell = Cell::kLstm;
  int64_t hidden_size = 0;
  int64_t batch_size = 0;
  PersistentForm form = PersistentForm::kAll;
  GroupsOfBackward groups = {};  // 0: any
};

void PrintTo(const HalfCase& of, std::ostream* out) {
  *out << fmt::format("{}_{}_{}_{}", config::name_of(of.form), config::name_of(of.cell), of.hidden_size, of.batch_size);
}

// Clusters, also with groups of 16 sequences; and over the whole GPU groups of 32, of two times 32 that take turns, in
// several rounds, and with four partners.
std::vector<HalfCase> half_cases() {
  std::vector<HalfCase> cases;
  for (const Cell cell : {Cell::kLstm, Cell::kGru}) {
    for (const auto& [size, batch_size] : {std::pair<int64_t, int64_t>{256, 250}, {512, 96}, {512, 200}, {520, 96}})
      cases.push_back({cell, size, batch_size});
    cases.push_back({cell, 512, 200, PersistentForm::kClusters, {.count = 13, .num_blocks = 8}});
    cases.push_back({cell, 1024, 100, PersistentForm::kAll, {.count = 4, .num_blocks = 32}});
    cases.push_back({cell, 1024, 130, PersistentForm::kAll, {.count = 3, .num_blocks = 32}});
    cases.push_back({cell, 1024, 300, PersistentForm::kAll, {.count = 10, .num_blocks = 32}});
    cases.push_back({cell, 1536, 32, PersistentForm::kAll, {.count = 1, .num_blocks = 96}});
    cases.push_back({cell, 1536, 40, PersistentForm::kAll, {.count = 1, .num_blocks = 96}});
  }
  for (const Cell cell : {Cell::kRnnTanh, Cell::kRnnRelu})
    for (const auto& [size, batch_size] : {std::pair<int64_t, int64_t>{512, 96}, {1024, 130}})
      cases.push_back({cell, size, batch_size});
  return cases;
}

kernels::PersistentGroups backward_groups_of(const HalfCase& of) {
  return kernels::backward_groups(
      {.num_steps = 8,
       .batch_size = of.batch_size,
       .hidden_size = of.hidden_size,
       .program = persistent_program_of(step_code_of(program_of(of.cell)), /*has_starts=*/false),
       .kernels = of.form,
       .is_alone = true});
}

bool is_known_gpu() {
  const auto* gpu = at::cuda::getDeviceProperties(0);
  return gpu->major == 9 && gpu->multiProcessorCount == 132;
}

RecurrentOptions square_options(Cell cell, int64_t size) {
  return {.cell = cell, .input_size = size, .hidden_size = size};
}

class PersistentHalfGradientsOf : public ByOwnKernels, public ::testing::WithParamInterface<HalfCase> {};
INSTANTIATE_TEST_SUITE_P(All, PersistentHalfGradientsOf, ::testing::ValuesIn(half_cases()),
                         ::testing::PrintToStringParamName());

// Blocks change their exponents when gradients grow, each at another step.
TEST_P(PersistentHalfGradientsOf, MatchFloat64) {
  const HalfCase& of = GetParam();
  RecurrentOptions options = square_options(of.cell, of.hidden_size);
  options.persistent_form = of.form;
  expect_float64_by_half_gradients({.options = options,
                                    .num_steps = steps_of_large_products(options, of.batch_size),
                                    .batch_size = of.batch_size,
                                    .growth_differs = true});
}

TEST_P(PersistentHalfGradientsOf, ComeFromTheKernelThatTheCaseIsFor) {
  const HalfCase& of = GetParam();
  if (of.groups.count == 0 || !is_known_gpu()) GTEST_SKIP() << "any kernel of this GPU";
  const kernels::PersistentGroups groups = backward_groups_of(of);
  EXPECT_EQ(groups.count, of.groups.count);
  EXPECT_EQ(groups.num_blocks, of.groups.num_blocks);
}

class PersistentHalfGradients : public ByOwnKernels {};

TEST_F(PersistentHalfGradients, OfAllSequencesWithOneGrowthMatchFloat64) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru}) {
    const RecurrentOptions options = square_options(cell, 512);
    expect_float64_by_half_gradients(
        {.options = options, .num_steps = steps_of_large_products(options, 96), .batch_size = 96});
  }
}

TEST_F(PersistentHalfGradients, OfBothDirectionsMatchFloat64) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru})
    for (const auto& [size, batch_size] : {std::pair<int64_t, int64_t>{512, 96}, {1024, 130}}) {
      RecurrentOptions options = square_options(cell, size);
      options.num_layers = 2;
      options.bidirectional = true;
      expect_float64_by_half_gradients({.options = options,
                                        .num_steps = steps_of_large_products(options, batch_size),
                                        .batch_size = batch_size,
                                        .growth_differs = true});
    }
}

// The parts of the steps that are computed first have no gradient, with and without a growth in those after them. 32
// sequences leave other layers room beside each cell's kernel, 56 beside an LSTM's.
TEST_F(PersistentHalfGradients, OfLayersSideBySideWhoseLastStepsHaveNoneMatchFloat64) {
  for (const auto& [cell, num_steps, batch_size] :
       {std::tuple<Cell, int64_t, int64_t>{Cell::kLstm, 64, 56}, {Cell::kGru, 128, 32}})
    for (const int64_t num_quiet_steps : {int64_t{0}, num_steps / 2}) {
      RecurrentOptions options = square_options(cell, 512);
      options.num_layers = 3;
      expect_float64_by_half_gradients({.options = options,
                                        .num_steps = num_steps,
                                        .batch_size = batch_size,
                                        .growth_differs = true,
                                        .num_quiet_steps = num_quiet_steps});
    }
}

TEST_F(PersistentHalfGradients, OfAnyMagnitudeComeThrough) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru}) {
    const auto layer = make_layer(LayerKind::kPersistent, square_options(cell, 512));
    const auto check = [&] { expect_gradients_of_any_magnitude(*layer, kTf32, {.num_steps = 40, .batch_size = 96}); };
    EXPECT_EQ(num_half_passes_during(check), 3) << "for each magnitude";
  }
}

// Returns the gradient of the input for this gradient of the last outputs, (B, H).
at::Tensor input_gradient(RecurrentLayer& layer, const at::Tensor& data, const at::Tensor& of_last) {
  const at::Tensor input = data.clone().requires_grad_();
  at::Tensor gradient;
  EXPECT_EQ(num_half_passes_during([&] {
              layer.forward(input).output[-1].backward(of_last);
              gradient = input.grad();
            }),
            1);
  return gradient;
}

// Returns (T, sequences that are broken or not, H).
at::Tensor sequences_of(const at::Tensor& gradient, const at::Tensor& mask) {
  return gradient.index_select(1, mask.nonzero().flatten());
}

// Expects that the gradients of the broken sequences are not finite in any step, and those of the others are.
void expect_finite_but(const at::Tensor& is_broken, const at::Tensor& gradient) {
  EXPECT_FALSE(sequences_of(gradient, is_broken).isfinite().any().item<bool>());
  EXPECT_TRUE(sequences_of(gradient, is_broken.logical_not()).isfinite().all().item<bool>());
}

void expect_near_but(const at::Tensor& is_broken, const at::Tensor& got, const at::Tensor& wanted) {
  const at::Tensor numbers = sequences_of(wanted, is_broken.logical_not());
  const double largest = numbers.abs().max().item<double>();
  EXPECT_LE((sequences_of(got, is_broken.logical_not()) - numbers).abs().max().item<double>(),
            kTf32.tolerance * largest);
}

// The block of the broken sequences writes others with the same exponent. An infinite gradient takes the recurrent
// products of its step from the other sequences of a group of a cluster, because a block has one scale for them (in
// float32 too). So the others' numbers are compared where each sequence has a scale of its own, or with NaN.
TEST_F(PersistentHalfGradients, WhatIsNotFiniteStaysInItsSequences) {
  const TensorFloat32 products(kTf32);
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    for (const auto& [size, batch_size] : {std::pair<int64_t, int64_t>{512, 96}, {1024, 130}})
      for (const float value : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        SCOPED_TRACE(fmt::format("{}, H {}, B {}, {}", config::name_of(cell), size, batch_size, value));
        at::manual_seed(1);
        const RecurrentOptions options = square_options(cell, size);
        const auto layer = make_layer(LayerKind::kPersistent, options);
        layer->to(at::kCUDA);
        const at::Tensor data =
            at::randn({steps_of_large_products(options, batch_size), batch_size, size}, at::device(at::kCUDA));
        at::Tensor is_broken = at::zeros({batch_size}, at::device(at::kCUDA).dtype(at::kBool));
        for (const int64_t sequence : {3, 8}) is_broken[sequence].fill_(true);
        const at::Tensor of_last = at::randn({batch_size, size}, at::device(at::kCUDA));
        const auto gradient_with = [&](float of_broken) {
          return input_gradient(*layer, data, of_last.masked_fill(is_broken.unsqueeze(1), of_broken));
        };
        const at::Tensor got = gradient_with(value);
        expect_finite_but(is_broken, got);
        if (std::isnan(value) || size == 1024) expect_near_but(is_broken, got, gradient_with(0));
      }
}

// Returns the output and the gradients of the table and of all parameters.
template <class Forward>
std::vector<at::Tensor> results_by_table(RecurrentLayer& layer, const at::Tensor& table, const at::Tensor& upstream,
                                         const Forward& forward) {
  const at::Tensor leaf = table.clone().to(layer.parameters()[0].scalar_type()).requires_grad_();
  const at::Tensor output = forward(leaf);
  output.backward(upstream.to(output.scalar_type()));
  std::vector<at::Tensor> results = {output.detach(), leaf.grad()};
  for (const at::Tensor& parameter : layer.parameters()) results.push_back(parameter.grad());
  return results;
}

// The products for the gradients of the table and of the weights read sums over the places of each token.
TEST_F(PersistentHalfGradients, OfTokensMatchFloat64) {
  const TensorFloat32 products(kTf32);
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    for (const auto& [size, batch_size] : {std::pair<int64_t, int64_t>{512, 96}, {1024, 130}}) {
      SCOPED_TRACE(fmt::format("{}, H {}, B {}", config::name_of(cell), size, batch_size));
      at::manual_seed(1);
      const RecurrentOptions options = square_options(cell, size);
      const auto layer = make_layer(LayerKind::kPersistent, options), exact = make_layer(LayerKind::kHoisted, options);
      layer->to(at::kCUDA);
      exact->to(at::kCUDA, at::kDouble);
      copy_weights(*layer, *exact);
      const int64_t num_steps = steps_of_large_products(options, batch_size);
      const at::Tensor table = at::randn({13, size}, at::device(at::kCUDA));
      const at::Tensor tokens = at::randint(13, {num_steps, batch_size}, at::device(at::kCUDA).dtype(at::kLong));
      const at::Tensor upstream = at::randn({num_steps, batch_size, size}, at::device(at::kCUDA));
      const auto wanted = results_by_table(*exact, table, upstream, [&](const at::Tensor& leaf) {
        return exact->forward(at::embedding(leaf, tokens)).output;
      });
      std::vector<at::Tensor> got;
      EXPECT_EQ(num_half_passes_during([&] {
                  got = results_by_table(*layer, table, upstream, [&](const at::Tensor& leaf) {
                    return layer->forward_tokens(leaf, tokens).output;
                  });
                }),
                1);
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_LE((got[i] - wanted[i]).abs().max().item<double>(),
                  kTf32.tolerance * std::max(1.0, wanted[i].abs().max().item<double>()))
            << "result " << i;
    }
}

// The count finds tensors of int8 on any device.
TEST(NumHalfPasses, CountsTablesOfExponents) {
  const auto allocate = [](at::ScalarType type) { return [=] { (void)at::empty({2, 3}, type); }; };
  EXPECT_EQ(num_half_passes_during(allocate(at::kChar)), 1);
  EXPECT_EQ(num_half_passes_during(allocate(at::kFloat)), 0);
}

}  // namespace
}  // namespace rnnlab
