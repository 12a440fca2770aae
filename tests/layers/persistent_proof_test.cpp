// SPDX-License-Identifier: Apache-2.0
// Tests properties of `persistent` that need many runs: results of random shapes, and equal bits in repeats, alone and
// with other work at the same time. The default is 40 shapes and 16,000 steps of layers; RNNLAB_LONG_RUN=1 requests
// 1,000 shapes and a million steps.
#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "layers/on_cuda.h"
#include "layers/persistent_check.h"

namespace rnnlab {
namespace {

using PersistentProof = ByOwnKernels;

using Random = std::mt19937;

int64_t between(Random& random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
}

void give_heads(Random& random, RecurrentOptions& options) {
  options.cell = Cell::kSlstm;
  options.heads = between(random, 1, 5);
  options.hidden_size = options.heads * 8 * between(random, 1, 16);
}

// A third of the layers is small, and half of the small ones run by one block for each group. Most shapes are short and
// narrow. Every fourth is longer, in particular if layers may run at the same time; every fourth is wider.
LayerShape random_shape(Random& random, const NumberClass& numbers) {
  LayerShape shape;
  shape.options.cell = kCells[random() % kCells.size()];
  shape.options.input_size = between(random, 1, 40);
  const int64_t largest = random() % 3 == 0 ? 128 : largest_hidden_size(numbers);
  shape.options.hidden_size = 8 * between(random, 1, largest / 8);
  shape.options.num_layers = between(random, 1, 3);
  shape.options.bidirectional = random() % 2 == 0;
  const bool may_have_parts = shape.options.num_layers > 1 && !shape.options.bidirectional;
  shape.num_steps = between(random, 1, random() % 4 != 0 ? 12 : (may_have_parts ? 100 : 50));
  shape.batch_size = between(random, 1, random() % 4 == 0 ? 260 : 40);
  shape.ends = random() % 2 == 0 ? Ends::kVaried : Ends::kWhole;
  shape.states = random() % 2 == 0 ? States::kGiven : States::kZeros;
  if (shape.options.hidden_size <= 128 && random() % 2 == 0) shape.options.persistent_form = PersistentForm::kBlocks;
  if (random() % 5 == 0) give_heads(random, shape.options);
  return shape;
}

// The test has parts that may run at the same time, because the float64 layer, which runs step by step, takes long.
class PersistentShapes : public PersistentProof, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, PersistentShapes, ::testing::Range(0, 4));

TEST_P(PersistentShapes, RandomOnesMatchFloat64) {
  Random random(20261121 + static_cast<unsigned>(GetParam()));
  const int num_shapes = is_long_run() ? 250 : 10;
  std::map<std::string, double> largest;
  for (int i = 0; i < num_shapes; ++i) {
    const NumberClass& numbers = kNumberClasses[random() % kNumberClasses.size()];
    const LayerShape shape = random_shape(random, numbers);
    const double error =
        largest_error(shape, numbers, 1000 * static_cast<uint64_t>(GetParam()) + static_cast<uint64_t>(i));
    EXPECT_LE(error, numbers.tolerance) << "shape " << i << ": " << describe(shape, numbers);
    largest[numbers.name] = std::max(largest[numbers.name], error);
  }
  std::cout << num_shapes << " random shapes; largest errors:";
  for (const auto& [name, error] : largest) std::cout << fmt::format(" {} {:.1e}", name, error);
  std::cout << "\n";
}

// A layer on fixed data, and the bits of a pass there and back.
class RepeatedPass {
 public:
  static constexpr int64_t kSteps = 100, kLayers = 2;

  RepeatedPass(Cell cell, int64_t hidden_size, const NumberClass& numbers) {
    at::manual_seed(3);
    layer_ = make_layer(LayerKind::kPersistent,
                        {.cell = cell, .input_size = 8, .hidden_size = hidden_size, .num_layers = kLayers});
    layer_->to(at::kCUDA, numbers.type);
    input_ = at::randn({kSteps, 64, 8}, at::device(at::kCUDA)).to(numbers.type);
    wanted_ = run();
  }

  // Forward and backward count as one step of a layer.
  static constexpr int64_t layer_steps() { return kSteps * kLayers; }
  bool repeats() {
    const auto got = run();
    return at::equal(got.first, wanted_.first) && at::equal(got.second, wanted_.second);
  }

 private:
  std::pair<at::Tensor, at::Tensor> run() {
    layer_->zero_grad();
    const RecurrentResult result = layer_->forward(input_);
    result.output.sum().backward();
    return {result.output.detach(), layer_->parameters()[1].grad().clone()};
  }

  std::shared_ptr<RecurrentLayer> layer_;
  at::Tensor input_;
  std::pair<at::Tensor, at::Tensor> wanted_;
};

// Padded and whole, by one block, by clusters and, in the last two classes, by groups of blocks over the whole GPU.
std::array<int64_t, 2> hidden_sizes_of(const NumberClass& numbers) {
  if (numbers.type == at::kFloat)
    return numbers.allows_tf32 ? std::array<int64_t, 2>{512, 64} : std::array<int64_t, 2>{200, 128};
  return numbers.type == at::kHalf ? std::array<int64_t, 2>{1024, 40} : std::array<int64_t, 2>{1400, 128};
}

// other_work: called before each pass. Half the steps are LSTM's, the rest shared by GRU and RNN.
template <class OtherWork>
void expect_repeats(int64_t layer_steps, const OtherWork& other_work) {
  int64_t done = 0;
  for (const NumberClass& numbers : kNumberClasses)
    for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kLstm, Cell::kRnnTanh})
      for (const int64_t hidden_size : hidden_sizes_of(numbers)) {
        const TensorFloat32 products(numbers);
        RepeatedPass pass(cell, hidden_size, numbers);
        for (int64_t here = 0; here < layer_steps / 32; here += RepeatedPass::layer_steps()) {
          other_work();
          ASSERT_TRUE(pass.repeats()) << config::name_of(cell) << " " << numbers.name << " " << hidden_size << " after "
                                      << done << " steps";
          done += RepeatedPass::layer_steps();
        }
      }
  std::cout << done << " steps of layers, there and back, bit by bit the same\n";
}

TEST_F(PersistentProof, RepeatsBitByBit) {
  expect_repeats(is_long_run() ? 1'000'000 : 16'000, [] {});
}

TEST_F(PersistentProof, RepeatsBitByBitBesideAnotherStream) {
  const at::Tensor matrix = at::randn({2048, 2048}, at::device(at::kCUDA));
  at::Tensor product = at::empty_like(matrix);
  const auto stream = c10::cuda::getStreamFromPool();
  expect_repeats(is_long_run() ? 1'000'000 : 16'000, [&] {
    const c10::cuda::CUDAStreamGuard guard(stream);
    for (int i = 0; i < 4; ++i) at::mm_out(product, matrix, matrix);
  });
}

}  // namespace
}  // namespace rnnlab
