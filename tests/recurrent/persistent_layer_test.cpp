// `persistent` against the float64 reference in each class of precision, over sizes, batches and options that the
// parity suite's small problems do not reach; and what it refuses.
#include <ATen/Context.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "recurrent/autocast.h"
#include "recurrent/layer_under_test.h"
#include "recurrent/persistent/gave_up.h"

namespace rnnlab {
namespace {

using reference::Lengths;
using reference::Problem;
using reference::Shape;
using reference::Start;
using testing::HasSubstr;

// Operands of recurrent products have TF32's 10 bits (5e-4) and inputs are multiplied in TF32; sums over up to a few
// thousand terms, several steps and back.
constexpr double kTf32Class = 4e-3;

// As tolerances.h has them, for sums that are 100 times as long.
constexpr double kFloat16Class = 1e-2;
constexpr double kBfloat16Class = 6e-2;

std::string user_error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(PersistentRefusal, NamesWhatTheKernelCannotDo) {
  const auto reason = [](const RecurrentOptions& options) {
    return refusal(LayerKind::kPersistent, options).value_or("none");
  };
  EXPECT_EQ(reason({.hidden_size = 128}), "none");
  EXPECT_EQ(reason({.hidden_size = 1024, .num_layers = 3, .bidirectional = true, .dropout = 0.5}), "none");
  EXPECT_EQ(reason({.cell = Cell::kGru, .hidden_size = 128}),
            "layer: persistent cannot do cell: gru (its kernel is one for lstm); use layer: naive, fused_pointwise, "
            "pretransposed, hoisted, blocked, wavefront, fused or cudnn");
  EXPECT_THAT(reason({.hidden_size = 128, .activation = Activation::kRelu}),
              HasSubstr("cannot do activation: relu (its kernel has tanh only)"));
  for (const int64_t size : {1, 64, 100, 192, 1152})
    EXPECT_THAT(
        reason({.hidden_size = size}),
        HasSubstr(fmt::format("cannot do hidden_size: {} (its kernel has multiples of 128 from 128 to 1024)", size)));
}

TEST(PersistentRefusal, IsForAGpu) {
  EXPECT_EQ(refusal(LayerKind::kPersistent, Processor::kCpu),
            "layer: persistent needs a Hopper GPU; on a CPU use layer: fused");
  EXPECT_EQ(refusal(LayerKind::kPersistent, Processor::kGpu), std::nullopt);
  const auto layer = make_layer(LayerKind::kPersistent, {.input_size = 3, .hidden_size = 128});
  EXPECT_EQ(user_error_of([&] {
              layer->forward(at::randn({2, 2, 3}));
            }),
            "layer: persistent needs a Hopper GPU; on a CPU use layer: fused");
}

TEST(PersistentRefusal, IsOfTrueFloat32Alone) {
  EXPECT_THAT(refusal_in_float32(LayerKind::kPersistent).value_or(""),
              HasSubstr("rounds the factors of recurrent products to 10 bits, as TF32 does; use precision: tf32"));
  for (const LayerKind kind : layer_kinds())
    EXPECT_EQ(refusal_in_float32(kind).has_value(), kind == LayerKind::kPersistent);
}

class PersistentOnHopper : public testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
    at::globalContext().setAllowTF32CuBLAS(true);
  }
  void TearDown() override { at::globalContext().setAllowTF32CuBLAS(false); }

  static void expect_the_reference(const RecurrentOptions& options, const Shape& shape, at::ScalarType type) {
    const Place place = {type, at::Device(at::kCUDA)};
    const Problem given = rounded(reference::random_problem(options, shape), type);
    const auto upstream = rounded(reference::random_upstream(given), type);
    const auto layer = make_layer_for(LayerKind::kPersistent, given, place);
    const double tolerance = type == at::kFloat ? kTf32Class : type == at::kHalf ? kFloat16Class : kBfloat16Class;
    expect_near(run(*layer, given, upstream, place), run_reference(given, upstream), tolerance);
  }
};

TEST_F(PersistentOnHopper, EveryOptionMatchesTheReference) {
  for (RecurrentOptions options : reference::stacks_of({.input_size = 3, .hidden_size = 128}))
    for (const Start start : {Start::kZeros, Start::kGiven})
      for (const Lengths lengths : {Lengths::kWhole, Lengths::kVaried})
        for (const bool batch_first : {false, true})
          for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16}) {
            options.batch_first = batch_first;
            SCOPED_TRACE(fmt::format("layers {}, bidirectional {}, given {}, varied {}, batch first {}, {}",
                                     options.num_layers, options.bidirectional, start == Start::kGiven,
                                     lengths == Lengths::kVaried, batch_first, c10::toString(type)));
            expect_the_reference(options, {.start = start, .lengths = lengths}, type);
          }
}

TEST_F(PersistentOnHopper, EverySizeMatchesTheReference) {
  for (int64_t size = 128; size <= 1024; size += 128)
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      SCOPED_TRACE(fmt::format("H {}, {}", size, c10::toString(type)));
      expect_the_reference({.input_size = 5, .hidden_size = size}, {.num_steps = 3, .batch_size = 9}, type);
    }
}

// One sequence, groups that are not full, wide groups, and more groups than fit at once.
TEST_F(PersistentOnHopper, EveryBatchMatchesTheReference) {
  for (const int64_t batch_size : {1, 7, 8, 130, 300}) {
    SCOPED_TRACE(fmt::format("B {}", batch_size));
    expect_the_reference({.input_size = 2, .hidden_size = 512}, {.num_steps = 2, .batch_size = batch_size}, at::kFloat);
  }
  expect_the_reference({.input_size = 1, .hidden_size = 128}, {.num_steps = 1, .batch_size = 1}, at::kFloat);
}

TEST_F(PersistentOnHopper, AutocastMatchesTheReference) {
  const Problem given =
      rounded(reference::random_problem({.input_size = 3, .hidden_size = 128, .num_layers = 2}, {}), at::kBFloat16);
  const auto upstream = rounded(reference::random_upstream(given), at::kBFloat16);
  const Place place = {at::kFloat, at::Device(at::kCUDA)};
  const auto layer = make_layer_for(LayerKind::kPersistent, given, place);
  const Autocast autocast(at::kCUDA, at::kBFloat16);
  expect_near(run(*layer, given, upstream, place), run_reference(given, upstream), kBfloat16Class);
}

// Gradients far below and above float16's range come through: each step's products are scaled.
TEST_F(PersistentOnHopper, GradientsOfAnyMagnitudeComeThrough) {
  const auto layer = make_layer(LayerKind::kPersistent, {.input_size = 8, .hidden_size = 256});
  layer->to(at::kCUDA);
  const at::Tensor data = at::randn({20, 10, 8}, at::kCUDA);
  const auto gradient_for = [&](double factor) {
    const at::Tensor input = data.clone().requires_grad_();
    (layer->forward(input).output.sum() * factor).backward();
    return input.grad() / factor;
  };
  const at::Tensor wanted = gradient_for(1);
  for (const double factor : {0x1p-60, 0x1p40})
    EXPECT_TRUE(at::equal(gradient_for(factor), wanted)) << "powers of two change nothing";
}

TEST_F(PersistentOnHopper, RepeatsBitByBit) {
  const auto layer = make_layer(LayerKind::kPersistent, {.input_size = 8, .hidden_size = 512, .num_layers = 2});
  layer->to(at::kCUDA);
  const at::Tensor data = at::randn({50, 64, 8}, at::kCUDA);
  const auto pass = [&] {
    layer->zero_grad();
    const RecurrentResult result = layer->forward(data);
    result.output.pow(2).sum().backward();
    return std::pair(result.output.detach(), layer->parameters()[1].grad().clone());
  };
  const auto first = pass();
  for (int i = 0; i < 20; ++i) {
    const auto again = pass();
    EXPECT_TRUE(at::equal(again.first, first.first) && at::equal(again.second, first.second)) << i;
  }
}

TEST_F(PersistentOnHopper, SaysOnceThatAPassBeforeGaveUp) {
  const auto layer = make_layer(LayerKind::kPersistent, {.input_size = 3, .hidden_size = 128});
  layer->to(at::kCUDA);
  const auto pass = [&] { layer->forward(at::randn({2, 2, 3}, at::kCUDA)); };
  *gave_up_flag() = 1;
  EXPECT_THAT(user_error_of(pass), HasSubstr("layer: persistent: a block of threads waited in vain"));
  EXPECT_EQ(user_error_of(pass), "no error");
}

TEST_F(PersistentOnHopper, RefusesFloat64AndTrueFloat32) {
  const auto layer = make_layer(LayerKind::kPersistent, {.input_size = 3, .hidden_size = 128});
  layer->to(at::kCUDA);
  at::globalContext().setAllowTF32CuBLAS(false);
  EXPECT_EQ(user_error_of([&] {
              layer->forward(at::randn({2, 2, 3}, at::kCUDA));
            }),
            refusal_in_float32(LayerKind::kPersistent).value_or(""));
  layer->to(at::kDouble);
  EXPECT_EQ(user_error_of([&] {
              layer->forward(at::randn({2, 2, 3}, at::device(at::kCUDA).dtype(at::kDouble)));
            }),
            "layer: persistent has no float64, which tensor cores cannot keep up with; use layer: cudnn");
}

}  // namespace
}  // namespace rnnlab
