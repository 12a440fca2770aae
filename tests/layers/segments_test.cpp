// SPDX-License-Identifier: Apache-2.0
#include "layers/segments.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {
namespace {

// Of five steps of two sequences: the first one starts with steps 0 and 3, the second one with steps 1 and 4.
at::Tensor starts_of_two() {
  const at::Tensor starts = at::zeros({5, 2}, at::kBool);
  for (const auto& [step, sequence] : {std::pair(0, 0), {3, 0}, {1, 1}, {4, 1}}) starts[step][sequence] = true;
  return starts;
}

std::vector<int64_t> steps_of(const at::Tensor& starts, int64_t sequence) {
  const at::Tensor steps = starts.select(1, sequence).flatten().nonzero().flatten();
  return {steps.const_data_ptr<int64_t>(), steps.const_data_ptr<int64_t>() + steps.numel()};
}

TEST(Segments, BeginInReverseBeforeTheStepsThatStart) {
  const at::Tensor forward = starts_in_order({{}, starts_of_two()}, Direction::kForward);
  EXPECT_EQ(steps_of(forward, 0), (std::vector<int64_t>{0, 3}));
  const at::Tensor reverse = starts_in_order({{}, starts_of_two()}, Direction::kReverse);
  EXPECT_EQ(steps_of(reverse, 0), (std::vector<int64_t>{2}));
  EXPECT_EQ(steps_of(reverse, 1), (std::vector<int64_t>{0, 3}));
}

TEST(Segments, EndWithTheSequence) {
  const Segments segments = {at::tensor({3, 4}, at::kLong), starts_of_two()};
  EXPECT_EQ(steps_of(starts_in_order(segments, Direction::kForward), 0), (std::vector<int64_t>{0}));
  EXPECT_EQ(steps_of(starts_in_order(segments, Direction::kReverse), 0), (std::vector<int64_t>{}));
  EXPECT_EQ(steps_of(starts_in_order(segments, Direction::kReverse), 1), (std::vector<int64_t>{0}));
}

// In reverse, the initial state precedes the last step, which no mark follows.
TEST(Segments, ReplaceInitialStatesOfTheForwardDirection) {
  const auto layer = make_layer(LayerKind::kHoisted, {.input_size = 3, .hidden_size = 4, .bidirectional = true});
  const at::Tensor input = at::randn({5, 2, 3}), starts = starts_of_two();
  const RecurrentState initial = {at::randn({2, 2, 4}), at::randn({2, 2, 4})};
  const at::Tensor with = layer->forward(input, initial, {}, starts).output;
  const at::Tensor without = layer->forward(input, {}, {}, starts).output;
  const auto differ = [&](int64_t sequence, int64_t direction) {
    const auto part = [&](const at::Tensor& output) { return output.select(1, sequence).narrow(1, 4 * direction, 4); };
    return !at::equal(part(with), part(without));
  };
  EXPECT_FALSE(differ(0, 0));  // its first step starts
  EXPECT_TRUE(differ(1, 0));
  EXPECT_TRUE(differ(0, 1));
}

// Nothing that comes before a start reaches what comes after it, not even a NaN, and no gradient goes back over it.
TEST(Segments, DoNotReadEachOther) {
  for (const LayerKind kind : {LayerKind::kNaive, LayerKind::kGrouped, LayerKind::kHoisted, LayerKind::kBlocked}) {
    const auto layer = make_layer(kind, {.input_size = 3, .hidden_size = 20});
    const at::Tensor starts = starts_of_two();
    const at::Tensor input = at::randn({5, 2, 3}).requires_grad_();
    const at::Tensor output = layer->forward(input, {}, {}, starts).output.select(1, 0);
    const at::Tensor alone = layer->forward(input.slice(0, 3).narrow(1, 0, 1)).output.select(1, 0);
    EXPECT_TRUE(at::allclose(output.slice(0, 3), alone, 1e-5, 1e-6)) << config::name_of(kind);
    output.slice(0, 3).sum().backward();
    EXPECT_EQ(input.grad().slice(0, 0, 3).abs().sum().item<float>(), 0) << config::name_of(kind);
    EXPECT_GT(input.grad().slice(0, 3).abs().sum().item<float>(), 0) << config::name_of(kind);
    at::Tensor spoiled = input.detach().clone();
    spoiled[2][0].fill_(NAN);
    EXPECT_TRUE(at::equal(layer->forward(spoiled, {}, {}, starts).output.select(1, 0).slice(0, 3), output.slice(0, 3)))
        << config::name_of(kind);
  }
}

TEST(Segments, AreCheckedByTheLayer) {
  const auto naive = make_layer(LayerKind::kNaive, {.input_size = 3, .hidden_size = 4});
  const auto fused = make_layer(LayerKind::kFused, {.input_size = 3, .hidden_size = 4});
  const at::Tensor input = at::zeros({5, 2, 3});
  EXPECT_THROW(fused->forward(input, {}, {}, starts_of_two()), InvariantError);
  EXPECT_THROW(naive->forward(input, {}, {}, starts_of_two().t()), InvariantError);
  EXPECT_THROW(naive->forward(input, {}, {}, starts_of_two().to(at::kLong)), InvariantError);
}

}  // namespace
}  // namespace rnnlab
