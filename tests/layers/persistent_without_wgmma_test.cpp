// SPDX-License-Identifier: Apache-2.0
// Tests `persistent` by the kernels over the whole GPU that need compute capability 8.0 only. RNNLAB_KERNELS_AS
// requests them on any later GPU, as PTX that the driver compiles. Classes without such kernels, which is fp32, are
// left out.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "layers/on_cuda.h"
#include "layers/persistent/persistent_pass.h"
#include "layers/persistent_check.h"
#include "layers/refusals.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;

constexpr const char* kVariable = "RNNLAB_KERNELS_AS";

// Requests the kernels of compute capability 8.0 during a test.
class PersistentWithoutWgmma : public ByOwnKernels {
 protected:
  void SetUp() override {
    ByOwnKernels::SetUp();
    const char* const value = std::getenv(kVariable);
    if (value != nullptr) before_ = value;
    ::setenv(kVariable, "8.0", 1);
  }
  void TearDown() override {
    if (before_)
      ::setenv(kVariable, before_->c_str(), 1);
    else
      ::unsetenv(kVariable);
  }

  static void expect_float64(const LayerShape& shape) {
    for (const Cell cell : kCells)
      for (const NumberClass& numbers : kNumberClasses) {
        if (numbers.name == std::string_view("fp32")) continue;
        LayerShape of_cell = shape;
        of_cell.options.cell = cell;
        EXPECT_LE(largest_error(of_cell, numbers, 1), numbers.tolerance) << describe(of_cell, numbers);
      }
  }

 private:
  std::optional<std::string> before_;
};

// Each size that there is a kernel for, and the next smaller and larger one that pads.
TEST_F(PersistentWithoutWgmma, EverySizeMatchesFloat64) {
  for (const int64_t hidden_size : {136, 248, 256, 264, 376, 384, 392, 504, 512, 520, 760, 768, 776, 1016, 1024})
    expect_float64({.options = {.input_size = 5, .hidden_size = hidden_size}});
}

// One sequence, groups of 16 and of 32 that are full or not, and more groups than fit at once.
TEST_F(PersistentWithoutWgmma, EveryBatchMatchesFloat64) {
  for (const int64_t batch_size : {1, 16, 17, 33, 64, 130, 300})
    for (const int64_t size : {136, 256, 384, 512, 768, 1024})
      expect_float64({.options = {.input_size = 3, .hidden_size = size}, .num_steps = 7, .batch_size = batch_size});
}

TEST_F(PersistentWithoutWgmma, EveryOptionMatchesFloat64) {
  for (const int64_t size : {136, 520})
    for (const bool bidirectional : {false, true})
      for (const int64_t num_layers : {1, 2})
        for (const Ends ends : {Ends::kWhole, Ends::kVaried})
          for (const States states : {States::kZeros, States::kGiven})
            expect_float64({.options = {.input_size = 3,
                                        .hidden_size = size,
                                        .num_layers = num_layers,
                                        .bidirectional = bidirectional},
                            .num_steps = 6,
                            .batch_size = 20,
                            .ends = ends,
                            .states = states});
}

TEST_F(PersistentWithoutWgmma, OneStepMatchesFloat64) {
  for (const int64_t size : {256, 1024})
    expect_float64({.options = {.input_size = 1, .hidden_size = size}, .num_steps = 1, .batch_size = 5});
}

TEST_F(PersistentWithoutWgmma, LayersSideBySideMatchFloat64) {
  for (const int64_t size : {136, 512})
    expect_float64({.options = {.input_size = 5, .hidden_size = size, .num_layers = 3},
                    .num_steps = 50,
                    .batch_size = 16,
                    .states = States::kGiven});
}

TEST_F(PersistentWithoutWgmma, NotANumberStaysInItsSequence) {
  for (const Cell cell : kCells)
    for (const auto& [size, batch_size] : std::vector<std::pair<int64_t, int64_t>>{{256, 20}, {520, 40}, {1024, 130}}) {
      const auto layer = make_layer(LayerKind::kPersistent, {.cell = cell, .input_size = 3, .hidden_size = size});
      expect_nan_stays_in_its_sequence(*layer, batch_size);
    }
}

// Gradients far below and above float16's range keep their values, because each step's products are scaled.
TEST_F(PersistentWithoutWgmma, GradientsOfAnyMagnitudeComeThrough) {
  const NumberClass& numbers = kNumberClasses[1];
  for (const Cell cell : kCells) {
    const auto layer = make_layer(LayerKind::kPersistent, {.cell = cell, .input_size = 8, .hidden_size = 1024});
    expect_gradients_of_any_magnitude(*layer, numbers);
  }
}

TEST_F(PersistentWithoutWgmma, PassesTheFirstCheckOfAnUnknownGpu) {
  for (const NumberClass& numbers : kNumberClasses) {
    const TensorFloat32 products(numbers);
    EXPECT_LE(largest_difference_from_fused({c10::kCUDA, 0}, numbers.type), 1) << numbers.name;
  }
}

// Large products read gates' gradients that the kernels by mma have written as float16.
TEST_F(PersistentWithoutWgmma, HalfGradientsMatchFloat64) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    for (const auto& [size, batch_size] : std::vector<std::pair<int64_t, int64_t>>{{256, 250}, {512, 96}, {1024, 60}}) {
      const RecurrentOptions options = {.cell = cell, .input_size = size, .hidden_size = size};
      expect_float64_by_half_gradients({.options = options,
                                        .num_steps = steps_of_large_products(options, batch_size),
                                        .batch_size = batch_size,
                                        .growth_differs = true});
    }
}

TEST_F(PersistentWithoutWgmma, RefusesFloat32AndLargerLayers) {
  const auto error_of = [](int64_t hidden_size, const NumberClass& numbers) {
    const TensorFloat32 products(numbers);
    const auto layer = make_layer(LayerKind::kPersistent, {.input_size = 3, .hidden_size = hidden_size});
    layer->to(at::kCUDA);
    return user_error_of([&] { layer->forward(at::randn({2, 2, 3}, at::kCUDA)); });
  };
  EXPECT_THAT(error_of(136, kNumberClasses[0]), HasSubstr("hidden_size: 136 has no kernels"));
  EXPECT_THAT(error_of(1032, kNumberClasses[1]), HasSubstr("hidden_size: 1032 has no kernels"));
}

LayerShape random_large_shape(std::mt19937& random) {
  const auto between = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
  };
  LayerShape shape;
  shape.options.cell = kCells[random() % kCells.size()];
  shape.options.input_size = between(1, 40);
  shape.options.hidden_size = 8 * between(17, 128);
  shape.options.num_layers = between(1, 3);
  shape.options.bidirectional = random() % 2 == 0;
  shape.num_steps = between(1, random() % 4 == 0 ? 50 : 12);
  shape.batch_size = between(1, random() % 4 == 0 ? 260 : 40);
  shape.ends = random() % 2 == 0 ? Ends::kVaried : Ends::kWhole;
  shape.states = random() % 2 == 0 ? States::kGiven : States::kZeros;
  return shape;
}

TEST_F(PersistentWithoutWgmma, RandomShapesMatchFloat64) {
  std::mt19937 random(20261127);
  double largest = 0;
  const int num_shapes = is_long_run() ? 500 : 20;
  for (int i = 0; i < num_shapes; ++i) {
    const NumberClass& numbers = kNumberClasses[1 + random() % (kNumberClasses.size() - 1)];
    const LayerShape shape = random_large_shape(random);
    const double error = largest_error(shape, numbers, static_cast<uint64_t>(i));
    EXPECT_LE(error, numbers.tolerance) << "shape " << i << ": " << describe(shape, numbers);
    largest = std::max(largest, error / numbers.tolerance);
  }
  std::cout << fmt::format("{} random shapes; the largest error is {:.2f} of its bound\n", num_shapes, largest);
}

// Returns the output and a gradient of a pass there and back.
std::pair<at::Tensor, at::Tensor> pass_of(RecurrentLayer& layer, const at::Tensor& input) {
  layer.zero_grad();
  const RecurrentResult result = layer.forward(input);
  result.output.sum().backward();
  return {result.output.detach(), layer.parameters()[1].grad().clone()};
}

TEST_F(PersistentWithoutWgmma, RepeatsBitByBit) {
  const int num_repeats = is_long_run() ? 1000 : 10;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    for (const NumberClass& numbers : {kNumberClasses[1], kNumberClasses[3]})
      for (const auto& [size, batch_size] :
           std::vector<std::pair<int64_t, int64_t>>{{200, 64}, {512, 90}, {1024, 40}}) {
        const TensorFloat32 products(numbers);
        at::manual_seed(3);
        const auto layer =
            make_layer(LayerKind::kPersistent, {.cell = cell, .input_size = 8, .hidden_size = size, .num_layers = 2});
        layer->to(at::kCUDA, numbers.type);
        const at::Tensor input = at::randn({100, batch_size, 8}, at::device(at::kCUDA)).to(numbers.type);
        const auto wanted = pass_of(*layer, input);
        for (int i = 0; i < num_repeats; ++i) {
          const auto got = pass_of(*layer, input);
          ASSERT_TRUE(at::equal(got.first, wanted.first) && at::equal(got.second, wanted.second))
              << config::name_of(cell) << " " << numbers.name << " " << size << ", repeat " << i;
        }
      }
}

}  // namespace
}  // namespace rnnlab
