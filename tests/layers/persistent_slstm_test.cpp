// SPDX-License-Identifier: Apache-2.0
// Tests sLSTM by persistent kernels: what they refuse, and results and all gradients, of heads of every size, against
// the float64 reference and against `naive` in float64.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "golden.h"
#include "layers/on_cuda.h"
#include "layers/persistent_check.h"
#include "layers/refusals.h"

namespace rnnlab {
namespace {

using reference::Lengths;
using reference::Problem;
using reference::Start;

RecurrentOptions heads_of(int64_t head_size, int64_t num_heads, int64_t input_size = 3) {
  return {.cell = Cell::kSlstm, .input_size = input_size, .hidden_size = num_heads * head_size, .heads = num_heads};
}

TEST(PersistentSlstmRefusal, NamesTheSizesOfHeads) {
  EXPECT_EQ(refusal_of(LayerKind::kPersistent, heads_of(128, 8)), std::nullopt);
  expect_golden(refusal_of(LayerKind::kPersistent, heads_of(256, 2)));
}

TEST(PersistentSlstmRefusal, IsForFormsOfClusters) {
  RecurrentOptions options = heads_of(128, 8);
  options.persistent_form = PersistentForm::kBlocks;
  EXPECT_EQ(refusal_of(LayerKind::kPersistent, options), std::nullopt);
  options.persistent_form = PersistentForm::kClusters;
  expect_golden(refusal_of(LayerKind::kPersistent, options));
}

class PersistentSlstm : public ByOwnKernels {};

// A gradient of the stabilizer belongs to the larger one of two gates. Only float32 does not change which one that is.
reference::Result upstream_for(const Problem& given, const NumberClass& numbers) {
  auto upstream = rounded(reference::random_upstream(given), numbers.type);
  if (numbers.type == at::kFloat && !numbers.allows_tf32) return upstream;
  for (reference::Vector& state : upstream.inner) std::ranges::fill(state, 0.0);
  return upstream;
}

TEST_F(PersistentSlstm, EveryOptionMatchesTheReference) {
  for (RecurrentOptions options : reference::stacks_of(heads_of(24, 2)))
    for (const Start start : {Start::kZeros, Start::kGiven})
      for (const Lengths lengths : {Lengths::kWhole, Lengths::kVaried})
        for (const NumberClass& numbers : kNumberClasses) {
          SCOPED_TRACE(fmt::format("layers {}, bidirectional {}, given {}, varied {}, {}", options.num_layers,
                                   options.bidirectional, start == Start::kGiven, lengths == Lengths::kVaried,
                                   numbers.name));
          const Place place = {numbers.type, at::Device(at::kCUDA)};
          const Problem given =
              rounded(reference::random_problem(options, {.start = start, .lengths = lengths}), numbers.type);
          const auto upstream = upstream_for(given, numbers);
          const auto layer = make_layer_for(LayerKind::kPersistent, given, place);
          const TensorFloat32 products(numbers);
          expect_near(run(*layer, given, upstream, place), run_reference(given, upstream), numbers.tolerance);
        }
}

TEST_F(PersistentSlstm, EveryHeadSizeMatchesFloat64) {
  for (const int64_t head_size : {8, 24, 32, 40, 64, 72, 96, 104, 128})
    for (const int64_t num_heads : {1, 3})
      for (const int64_t batch_size : {1, 5, 600})
        for (const NumberClass& numbers : kNumberClasses) {
          const LayerShape shape = {
              .options = heads_of(head_size, num_heads), .num_steps = 6, .batch_size = batch_size};
          EXPECT_LE(largest_error(shape, numbers, 1), numbers.tolerance) << describe(shape, numbers);
        }
}

// The stabilizer keeps the exponentials finite for input gates of any size.
TEST_F(PersistentSlstm, LargeGatesStayFinite) {
  const auto layer = make_layer(LayerKind::kPersistent, heads_of(64, 2));
  const auto exact = make_layer(LayerKind::kNaive, heads_of(64, 2));
  copy_weights(*layer, *exact);
  layer->to(at::kCUDA);
  exact->to(at::kCUDA, at::kDouble);
  const at::Tensor input = 3000 * at::randn({20, 4, 3}, at::device(at::kCUDA));
  const at::Tensor got = layer->forward(input).output.to(at::kDouble);
  EXPECT_LE((got - exact->forward(input.to(at::kDouble)).output).abs().max().item<double>(), 1e-2);
}

TEST_F(PersistentSlstm, NotANumberStaysInItsSequence) {
  const auto layer = make_layer(LayerKind::kPersistent, heads_of(64, 2));
  expect_nan_stays_in_its_sequence(*layer, 20);
}

std::vector<at::Tensor> gradients_of(RecurrentLayer& layer, const at::Tensor& input) {
  layer.zero_grad();
  (layer.forward(input).output * input.sum()).sum().backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : layer.parameters()) gradients.push_back(parameter.grad().clone());
  return gradients;
}

TEST_F(PersistentSlstm, RepeatsBitByBit) {
  const auto layer = make_layer(LayerKind::kPersistent, heads_of(128, 4));
  layer->to(at::kCUDA);
  const at::Tensor input = at::randn({50, 16, 3}, at::device(at::kCUDA));
  const auto wanted = gradients_of(*layer, input);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto got = gradients_of(*layer, input);
    for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(at::equal(got[i], wanted[i]));
  }
}

TEST_F(PersistentSlstm, AutocastMatchesTheReference) {
  const RecurrentOptions options = heads_of(64, 2);
  const Problem given = rounded(reference::random_problem(options, {.start = Start::kGiven}), at::kBFloat16);
  const auto upstream = upstream_for(given, kNumberClasses[3]);
  const Place place = {at::kFloat, at::Device(at::kCUDA)};
  const auto layer = make_layer_for(LayerKind::kPersistent, given, place);
  const Autocast autocast(at::kCUDA, at::kBFloat16);
  expect_near(run(*layer, given, upstream, place), run_reference(given, upstream), kBfloat16);
}

}  // namespace
}  // namespace rnnlab
