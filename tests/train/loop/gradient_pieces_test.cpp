// SPDX-License-Identifier: Apache-2.0
#include "train/loop/gradient_pieces.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "train/loop/step_record.h"
#include "train/ranks/fake_ranks.h"

namespace rnnlab {
namespace {

std::vector<NamedTensor> parameters_of(const std::vector<std::pair<std::string, int64_t>>& sizes) {
  std::vector<NamedTensor> parameters;
  for (const auto& [name, size] : sizes) parameters.push_back({name, at::zeros({size}).requires_grad_()});
  return parameters;
}

constexpr int64_t kMebi = int64_t{1} << 18;  // floats of a MiB

// A character language model: an embedding, two layers and a head.
std::vector<NamedTensor> two_layers(int64_t weight) {
  return parameters_of({{"recurrent.weight_ih_l0", weight},
                        {"recurrent.weight_hh_l0", weight},
                        {"recurrent.bias_ih_l0", 64},
                        {"recurrent.bias_hh_l0", 64},
                        {"recurrent.weight_ih_l1", weight},
                        {"recurrent.weight_hh_l1", weight},
                        {"recurrent.bias_ih_l1", 64},
                        {"recurrent.bias_hh_l1", 64},
                        {"embedding.weight", 100},
                        {"output.weight", 70},
                        {"output.bias", 7}});
}

std::vector<size_t> pieces_of(const MessageLayout& layout) {
  std::vector<size_t> pieces;
  for (const MessageLayout::Place& place : layout.places) pieces.push_back(place.piece);
  return pieces;
}

TEST(MessageLayout, HasGradientsInTheOrderOfABackwardPass) {
  const MessageLayout layout = layout_of(two_layers(4), /*tail=*/5, Pieces::kOne);
  ASSERT_EQ(layout.piece_sizes.size(), 1U);
  const size_t embedding = 8, output_bias = 10;
  EXPECT_EQ(layout.places[output_bias].offset, 0);
  for (size_t i = 1; i < embedding; ++i) EXPECT_GT(layout.places[i - 1].offset, layout.places[i].offset);
  EXPECT_GT(layout.places[embedding].offset, layout.places[0].offset) << "the first layer reads the table";
  EXPECT_GE(layout.tail_offset, layout.places[embedding].offset + 100);
  EXPECT_GE(layout.piece_sizes[0], layout.tail_offset + 5);
  for (const MessageLayout::Place& place : layout.places) EXPECT_EQ(place.offset % MessageLayout::kAlignment, 0);
}

TEST(MessageLayout, EndsAPieceWithALayer) {
  EXPECT_EQ(pieces_of(layout_of(two_layers(kMebi), 5, Pieces::kSeveral)),
            (std::vector<size_t>{1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0}));
}

TEST(MessageLayout, EndsAPieceWithinALargeLayer) {
  EXPECT_EQ(pieces_of(layout_of(two_layers(4 * kMebi), 5, Pieces::kSeveral)),
            (std::vector<size_t>{3, 2, 2, 2, 1, 0, 0, 0, 3, 0, 0}));
}

TEST(MessageLayout, CutsTheOnlyLargeLayerIfFetchingNeedsNoKernels) {
  const auto one_layer = parameters_of({{"recurrent.weight_ih_l0", 4 * kMebi}, {"recurrent.weight_hh_l0", 4 * kMebi}});
  EXPECT_EQ(layout_of(one_layer, 5, Pieces::kSeveral).piece_sizes.size(), 1U);
  EXPECT_EQ(pieces_of(layout_of(one_layer, 5, Pieces::kSeveralOfEachLayer)), (std::vector<size_t>{1, 0}));
}

TEST(MessageLayout, DoesNotCutSmallNetworks) {
  EXPECT_EQ(layout_of(two_layers(64), 5, Pieces::kSeveral).piece_sizes.size(), 1U);
}

TEST(MessageLayout, HasPiecesOfAGivenSize) {
  EXPECT_EQ(layout_of(two_layers(1024), 5, Pieces::kSeveral, 4096).piece_sizes.size(), 5U);
  EXPECT_EQ(layout_of(two_layers(1024), 5, Pieces::kSeveral, 1 << 20).piece_sizes.size(), 1U);
}

TEST(MessageLayout, KeepsTheStridesOfAParameter) {
  const at::Tensor piece = at::arange(64, at::kFloat);
  const at::Tensor turned = at::zeros({3, 4}).t();
  const at::Tensor place = place_in(piece, 32, turned);
  EXPECT_EQ(place.strides(), turned.strides());
  EXPECT_EQ(place[1][0].item<double>(), 33);
}

// The first of two ranks, the second of which always has the same values. Remembers the messages.
class RememberingRanks : public FakeRanks {
 public:
  RememberingRanks() : FakeRanks(0, 2) {}
  void all_reduce(at::Tensor& values) override {
    messages.push_back(values.clone());
    FakeRanks::all_reduce(values);
  }

  std::vector<at::Tensor> messages;
};

// Three parameters of 40 elements, each a piece of its own.
class ThreePieces : public ::testing::Test {
 protected:
  ThreePieces()
      : parameters_(parameters_of({{"a.weight", 40}, {"b.weight", 40}, {"c.weight", 40}})),
        pieces_(ranks_, parameters_, /*tail=*/5, Pieces::kSeveral, /*least_bytes=*/160) {
    set_tail();
  }

  at::Tensor weight(size_t i) const { return parameters_[i].tensor; }
  void set_tail() {
    const at::Tensor one = at::ones({});
    pieces_.set_tail(
        {.sums = {one * 2, one * 4, one * 8, 1}, .factor = 0.5, .request = one * 3, .rank = 0, .num_ranks = 2});
  }
  void finish() {
    pieces_.finish();
    set_tail();  // of the next step
  }
  void forget_gradients() {
    for (const NamedTensor& parameter : parameters_) parameter.tensor.mutable_grad() = at::Tensor();
  }
  void expect_gradients(double a, double b, double c) const {
    const std::array<double, 3> expected = {a, b, c};
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(pieces_.gradient(i).equal(at::full({40}, expected[i], at::kFloat))) << i;
    EXPECT_TRUE(pieces_.tail().narrow(0, 0, 5).equal(at::tensor({2.0F, 4.0F, 16.0F, 6.0F, 0.0F})));
  }

  RememberingRanks ranks_;
  std::vector<NamedTensor> parameters_;
  GradientPieces pieces_;
};

TEST_F(ThreePieces, TravelWhileThePassComputes) {
  ASSERT_EQ(pieces_.num_pieces(), 3U);
  pieces_.begin_last_pass(/*is_only_pass=*/true);
  (weight(0) * 1 + weight(1) * 2 + weight(2) * 3).sum().backward();
  EXPECT_EQ(ranks_.messages.size(), 2U) << "the last piece is sent by finish()";
  finish();
  EXPECT_EQ(ranks_.messages.size(), 3U);
  expect_gradients(2, 4, 6);
}

TEST_F(ThreePieces, AreSentInOrderWhateverIsWrittenFirst) {
  pieces_.begin_last_pass(true);
  weight(1).sum().backward();
  EXPECT_EQ(ranks_.messages.size(), 0U) << "the piece before it is missing";
  (weight(2) * 5).sum().backward();
  EXPECT_EQ(ranks_.messages.size(), 2U);
  EXPECT_EQ(ranks_.messages[0][0].item<double>(), 5);
  EXPECT_EQ(ranks_.messages[1][0].item<double>(), 1);
  weight(0).sum().backward();
  finish();
  expect_gradients(2, 2, 10);
}

TEST_F(ThreePieces, WaitForTheLastPassOfAStep) {
  for (int step = 0; step < 2; ++step) {
    (weight(0) + weight(1) + weight(2)).sum().backward();
    EXPECT_EQ(ranks_.messages.size(), 3U * step);
    pieces_.begin_last_pass(/*is_only_pass=*/false);
    (weight(0) + weight(1) + weight(2)).sum().backward();
    EXPECT_EQ(ranks_.messages.size(), 3U * step + 2);
    finish();
    expect_gradients(4, 4, 4);
    forget_gradients();
  }
}

TEST_F(ThreePieces, OfARankWithoutSamplesAreZero) {
  for (int step = 0; step < 2; ++step) {
    pieces_.begin_last_pass(true);
    (weight(0) + weight(1) + weight(2)).sum().backward();
    finish();
    forget_gradients();
    finish();  // no pass
    expect_gradients(0, 0, 0);
  }
  EXPECT_EQ(ranks_.messages.size(), 12U);
}

TEST_F(ThreePieces, GivePlacesToALayerThatWritesThem) {
  EXPECT_FALSE(pieces_.place_of(weight(2)).defined()) << "no pass has begun";
  pieces_.begin_last_pass(true);
  EXPECT_FALSE(pieces_.place_of(at::zeros({40})).defined()) << "not a parameter";
  pieces_.place_of(weight(2)).fill_(5);
  const std::array<at::Tensor, 1> written = {weight(2)};
  pieces_.on_written(written);
  ASSERT_EQ(ranks_.messages.size(), 1U);
  EXPECT_EQ(ranks_.messages[0][0].item<double>(), 5);
  (weight(0) + weight(1)).sum().backward();
  finish();
  expect_gradients(2, 2, 10);
}

TEST_F(ThreePieces, ForgetAStepThatFailed) {
  pieces_.begin_last_pass(true);
  pieces_.place_of(weight(1)).fill_(9);
  (weight(2) * 9).sum().backward();  // its piece is sent
  forget_gradients();

  pieces_.begin_step();
  set_tail();
  pieces_.begin_last_pass(true);
  (weight(0) + weight(1) + weight(2)).sum().backward();
  finish();
  expect_gradients(2, 2, 2);
  EXPECT_EQ(ranks_.messages.size(), 4U);
}

TEST_F(ThreePieces, RefuseASecondPlaceInAStep) {
  pieces_.begin_last_pass(true);
  pieces_.place_of(weight(2));
  EXPECT_THROW(pieces_.place_of(weight(2)), InvariantError);
}

TEST_F(ThreePieces, GiveNoPlacesWhereSeveralPassesAdd) {
  pieces_.begin_last_pass(/*is_only_pass=*/false);
  EXPECT_FALSE(pieces_.place_of(weight(2)).defined());
  const std::array<at::Tensor, 1> written = {weight(2)};
  pieces_.on_written(written);
  EXPECT_TRUE(ranks_.messages.empty());
}

// The first of two ranks, which fetches the messages of the second; those always have the same values.
class FetchingRanks : public RememberingRanks {
 public:
  bool gives_sources() const override { return true; }
  MessageSources sources_of(const at::Tensor& message) override {
    sources.push_back({{message, at::zeros_like(message)}, {message, at::zeros_like(message)}});
    return sources.back();
  }
  void announce(const at::Tensor& message) override {
    messages.push_back(message.clone());
    for (const auto& [of_ranks, fetched] : sources)
      if (of_ranks[0].is_same(message)) of_ranks[1].copy_(message);
  }
  void fetch(const at::Tensor& message) override {
    for (const auto& [of_ranks, fetched] : sources)
      if (of_ranks[0].is_same(message)) fetched[1].copy_(of_ranks[1]);
    ++num_fetched;
  }
  void end_reads() override { ++num_ends; }

  std::vector<MessageSources> sources;
  int num_fetched = 0, num_ends = 0;
};

TEST(GradientPieces, AreAddedUpHereIfTheyAreFetched) {
  FetchingRanks ranks;
  const auto parameters = parameters_of({{"a.weight", 40}, {"b.weight", 40}});
  GradientPieces pieces(ranks, parameters, 2, Pieces::kSeveral, 160);
  const at::Tensor one = at::ones({});
  for (int step = 1; step <= 2; ++step) {
    pieces.begin_step();
    pieces.set_tail({.sums = {one, one, one, 1}, .request = one, .rank = 0, .num_ranks = 2});
    pieces.begin_last_pass(true);
    (parameters[0].tensor * 3 + parameters[1].tensor * step).sum().backward();
    pieces.finish();
    pieces.end_step();
    EXPECT_EQ(ranks.messages.size(), 2U * step);
    EXPECT_EQ(ranks.num_fetched, step) << "the last piece is read where it lies";
    EXPECT_EQ(ranks.num_ends, step);
    EXPECT_TRUE(pieces.gradient(0).equal(at::full({40}, 6.0F)));
    EXPECT_TRUE(pieces.gradient(1).equal(at::full({40}, 2.0F * static_cast<float>(step))));
    EXPECT_EQ(ranks.sources[1].of_ranks[0][0].item<double>(), 3) << "another rank may still fetch the message";
    for (const NamedTensor& parameter : parameters) parameter.tensor.mutable_grad() = at::Tensor();
  }
}

TEST(AddUp, HasTheOrderOfTheRanks) {
  std::vector<c10::Device> devices = {c10::kCPU};
  if (at::hasCUDA()) devices.emplace_back(c10::kCUDA);
  for (const c10::Device device : devices)
    for (const int64_t num_ranks : {2, 3, 8}) {
      std::vector<at::Tensor> sources;
      for (int64_t rank = 0; rank < num_ranks; ++rank) sources.push_back(at::randn({9000}, device));
      const at::Tensor sum = at::full({9000}, 9.0F, device);
      const std::array<kernels::SummedPart, 3> parts = {{{0, 3}, {3, 2048}, {2051, 6949}}};
      add_up(sources, sum, parts);
      at::Tensor expected = sources[0].clone();
      for (size_t rank = 1; rank < sources.size(); ++rank) expected += sources[rank];
      EXPECT_TRUE(sum.equal(expected)) << device << " " << num_ranks;
    }
}

// The norms have the same bits, whichever kernel computes their parts.
TEST(AddUp, ComputesThePartsOfNorms) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  const auto on_gpu = at::TensorOptions().device(at::kCUDA).dtype(at::kFloat);
  const std::vector<at::Tensor> sources = {at::randn({9000}, on_gpu), at::randn({9000}, on_gpu)};
  const at::Tensor sum = at::zeros({9000}, on_gpu), known = at::zeros({6}, on_gpu);
  float* const data = known.mutable_data_ptr<float>();
  const std::array<kernels::SummedPart, 2> parts = {{{32, 2048, data}, {2080, 6920, data + 1}}};
  add_up(sources, sum, parts);
  const std::vector<at::Tensor> gradients = {sum.narrow(0, 32, 2048), sum.narrow(0, 2080, 6920)};
  const at::Tensor one = at::ones({}, on_gpu);
  const auto row_with = [&](const SummedGradients& summed) {
    at::Tensor found_inf = at::zeros({}, on_gpu);
    return summarize_step(gradients, {one, one, one, 1}, {}, found_inf, std::nullopt, summed).step.row;
  };
  EXPECT_TRUE(row_with({.clock = {}, .norm_parts = known}).equal(row_with({})));
}

TEST(GradientPieces, LeaveTheParametersAlone) {
  RememberingRanks ranks;
  const auto parameters = parameters_of({{"a.weight", 40}, {"b.weight", 40}});
  GradientPieces(ranks, parameters, 2, Pieces::kSeveral, 160).begin_last_pass(true);
  (parameters[0].tensor + parameters[1].tensor).sum().backward();
  EXPECT_TRUE(ranks.messages.empty());
}

TEST(FillMessage, WritesSumsAndTheRequestOfThisRank) {
  const at::Tensor place = at::full({5}, 9.0F), one = at::ones({});
  const at::Tensor gradient = at::ones({4}), message = at::zeros({4});
  const MessageTail tail{
      .sums = {one * 2, one * 4, one * 8, 1}, .factor = 0.5, .request = one * 3, .rank = 1, .num_ranks = 2};
  fill_message({{gradient, message}}, &tail, place);
  EXPECT_TRUE(message.equal(gradient));
  EXPECT_TRUE(place.equal(at::tensor({1.0F, 2.0F, 8.0F, 0.0F, 3.0F})));
}

// The same on a GPU, by own kernels: tensors of odd sizes, at odd addresses, and of other strides.
TEST(FillMessage, CopiesGradientsOnAGpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  const auto on_gpu = at::TensorOptions().device(at::kCUDA).dtype(at::kFloat);
  GradientCopies copies;
  const at::Tensor memory = at::zeros({20'000}, on_gpu);
  int64_t offset = 0;
  for (const int64_t size : {1, 3, 2048, 2049, 5000}) {
    copies.emplace_back(at::arange(size, on_gpu) + size, memory.narrow(0, offset, size));
    offset += size + 1;
  }
  copies.emplace_back(at::arange(12, on_gpu).view({3, 4}), place_in(memory, offset, at::zeros({4, 3}, on_gpu).t()));
  const at::Tensor place = at::full({4}, 9.0F, on_gpu), one = at::ones({}, on_gpu);
  const MessageTail tail{
      .sums = {one * 2, one * 4, one * 8, 1}, .factor = 0.5, .request = one * 3, .rank = 0, .num_ranks = 1};
  fill_message(copies, &tail, place);
  for (const auto& [from, to] : copies) EXPECT_TRUE(to.equal(from)) << from.sizes();
  EXPECT_TRUE(place.cpu().equal(at::tensor({1.0F, 2.0F, 8.0F, 3.0F})));
}

}  // namespace
}  // namespace rnnlab
