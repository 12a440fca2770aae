// SPDX-License-Identifier: Apache-2.0
#include "data/batches.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/expect_error.h"
#include "data_test.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Sample n, step t, feature f holds 100 n + 10 t + f: a batch shows where each of its values came from.
Samples numbered_samples(int64_t num_samples, int64_t num_steps, int64_t num_features) {
  const auto axis = [](int64_t size, int64_t unit) { return at::arange(size, at::kFloat) * unit; };
  Samples samples;
  samples.inputs = (axis(num_samples, 100).view({-1, 1, 1}) + axis(num_steps, 10).view({1, -1, 1}) +
                    axis(num_features, 1).view({1, 1, -1}))
                       .contiguous();
  samples.targets = at::arange(num_samples, at::kLong);
  samples.lengths = at::arange(num_samples, at::kLong).remainder(num_steps) + 1;
  return samples;
}

Samples numbered_tokens(int64_t num_samples, int64_t num_steps) {
  Samples samples;
  samples.inputs = at::arange(num_samples * num_steps, at::kLong).view({num_samples, num_steps});
  samples.targets = samples.inputs + 1;
  return samples;
}

std::vector<Batch> epoch_of(Batches& batches, int64_t epoch) {
  std::vector<Batch> all;
  batches.start_epoch(epoch);
  while (std::optional<Batch> batch = batches.next()) all.push_back(std::move(*batch));
  return all;
}

void expect_same(const Batch& actual, const Batch& expected) {
  EXPECT_EQ(actual.size, expected.size);
  EXPECT_TRUE(actual.inputs.cpu().equal(expected.inputs));
  EXPECT_TRUE(actual.targets.cpu().equal(expected.targets));
  ASSERT_EQ(actual.lengths.defined(), expected.lengths.defined());
  if (actual.lengths.defined()) {
    EXPECT_TRUE(actual.lengths.is_cpu());
    EXPECT_TRUE(actual.lengths.equal(expected.lengths));
  }
}

TEST(Batches, AreTimeMajorAndFollowThePermutation) {
  const Samples samples = numbered_samples(5, 3, 2);
  Batches batches(samples, {.batch_size = 2, .seed = 9}, at::kCPU);
  const at::Tensor order = permutation(5, 9, 4);
  int64_t seen = 0;
  for (const Batch& batch : epoch_of(batches, 4)) {
    EXPECT_EQ(batch.inputs.sizes(), at::IntArrayRef({3, batch.size, 2}));
    EXPECT_TRUE(batch.inputs.is_contiguous());
    for (int64_t b = 0; b < batch.size; ++b, ++seen) {
      const auto n = order[seen].item<int64_t>();
      EXPECT_EQ(batch.targets[b].item<int64_t>(), n);
      EXPECT_EQ(batch.lengths[b].item<int64_t>(), n % 3 + 1);
      EXPECT_EQ(batch.inputs[2][b][1].item<float>(), static_cast<float>(100 * n + 21));
    }
  }
  EXPECT_EQ(seen, 5);
}

TEST(Batches, InSequenceGoThroughTheSamplesAsTheyLie) {
  Batches batches(numbered_samples(5, 1, 1), {.batch_size = 2, .order = Order::kSequential}, at::kCPU);
  std::vector<at::Tensor> targets;
  for (const Batch& batch : epoch_of(batches, 3)) targets.push_back(batch.targets);
  EXPECT_TRUE(at::cat(targets).equal(at::arange(5, at::kLong)));
}

TEST(Batches, OfALanguageModelHaveATargetForEveryStep) {
  Batches batches(numbered_tokens(4, 3), {.batch_size = 4, .order = Order::kSequential}, at::kCPU);
  const Batch batch = epoch_of(batches, 0).at(0);
  EXPECT_EQ(batch.inputs.sizes(), at::IntArrayRef({3, 4}));
  EXPECT_TRUE(batch.targets.equal(batch.inputs + 1));
  EXPECT_EQ(batch.inputs[2][1].item<int64_t>(), 5);
}

TEST(Batches, CountTheTargetsOfStepsWithinTheLengths) {
  Samples samples = numbered_samples(6, 3, 2);  // lengths 1, 2, 3, 1, 2, 3
  samples.targets = at::arange(18, at::kLong).view({6, 3});
  for (const BatchShare share : {BatchShare{}, BatchShare{.index = 1, .count = 2}}) {
    Batches batches(samples, {.batch_size = 4, .order = Order::kSequential, .share = share}, at::kCPU);
    const std::vector<Batch> epoch = epoch_of(batches, 0);
    EXPECT_EQ(epoch[0].whole_targets, 7);
    EXPECT_EQ(epoch[1].whole_targets, 5);
    EXPECT_EQ(epoch[0].num_targets(), share.is_all() ? 7 : 4);
    EXPECT_EQ(epoch[0].targets.sizes(), at::IntArrayRef({3, epoch[0].size}));
  }
}

TEST(Batches, ByLengthHaveSimilarLengthsAndAreCutBehindTheLongest) {
  const Samples samples = numbered_samples(64, 32, 1);  // each length twice
  const BatchOptions options{.batch_size = 8, .order = Order::kByLength, .seed = 3};
  Batches batches(samples, options, at::kCPU), again(samples, options, at::kCPU);
  std::vector<int64_t> seen;
  for (const Batch& batch : epoch_of(batches, 1)) {
    const auto longest = batch.lengths.max().item<int64_t>();
    EXPECT_LE(longest - batch.lengths.min().item<int64_t>(), 3);
    EXPECT_EQ(batch.inputs.size(0), (longest + 1) / 2 * 2) << "in units of a sixteenth of 32 steps";
    const auto* numbers = batch.targets.const_data_ptr<int64_t>();
    seen.insert(seen.end(), numbers, numbers + batch.size);
  }
  EXPECT_TRUE(again.order(1).equal(batches.order(1))) << "a pure function of seed and epoch";
  EXPECT_FALSE(batches.order(2).equal(batches.order(1)));
  std::ranges::sort(seen);
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<int64_t>(i));
}

TEST(Batches, ByLengthKeepAnIncompleteBatchAtTheEnd) {
  const Samples samples = numbered_samples(21, 5, 1);
  Batches batches(samples, {.batch_size = 4, .order = Order::kByLength, .seed = 3}, at::kCPU);
  const std::vector<Batch> epoch = epoch_of(batches, 0);
  EXPECT_EQ(epoch.size(), 6u);
  EXPECT_EQ(epoch.back().size, 1);
}

TEST(Batches, ByLengthComeOutTheSameFromThePrefetchThread) {
  const Samples samples = numbered_samples(40, 12, 2);
  BatchOptions options{.batch_size = 6, .order = Order::kByLength, .seed = 5};
  Batches direct(samples, options, at::kCPU);
  options.placement = Placement::kHost;
  Batches prefetched(samples, options, at::kCPU);
  const auto expected = epoch_of(direct, 2), actual = epoch_of(prefetched, 2);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) expect_same(actual[i], expected[i]);
}

TEST(Batches, InStreamsContinueEachRow) {
  const Samples samples = numbered_tokens(7, 3);
  Batches batches(samples, {.batch_size = 2, .tail = TailPolicy::kDrop, .order = Order::kStreams}, at::kCPU);
  const std::vector<Batch> epoch = epoch_of(batches, 0);
  ASSERT_EQ(epoch.size(), 3u) << "the seventh window fills no row";
  for (size_t i = 1; i < epoch.size(); ++i)
    EXPECT_TRUE(epoch[i].inputs[0].equal(epoch[i - 1].targets[2])) << "the token that followed";
}

TEST(Batches, KeepRealValuedTargetsAsRows) {
  Samples samples = numbered_samples(4, 2, 1);
  samples.targets = at::arange(8, at::kFloat).view({4, 2});
  Batches batches(samples, {.batch_size = 3, .order = Order::kSequential}, at::kCPU);
  const std::vector<Batch> all = epoch_of(batches, 0);
  EXPECT_TRUE(all.at(0).targets.equal(samples.targets.narrow(0, 0, 3)));
  EXPECT_TRUE(all.at(1).targets.equal(samples.targets.narrow(0, 3, 1)));
}

std::vector<Batch> share_of_epoch(const Samples& samples, BatchOptions options, const BatchShare& share) {
  options.share = share;
  Batches batches(samples, options, at::kCPU);
  return epoch_of(batches, 0);
}

// 11 samples in batches of 4: the last one has 3, one for each of three processes, and none for one of four.
TEST(Batches, OfSeveralProcessesArePartsOfTheSameBatches) {
  const Samples samples = numbered_samples(11, 3, 2);
  const BatchOptions options{.batch_size = 4, .seed = 9};
  const std::vector<Batch> whole = share_of_epoch(samples, options, {});
  for (const int64_t count : {2, 3, 4}) {
    std::vector<std::vector<Batch>> parts;
    for (int64_t i = 0; i < count; ++i) parts.push_back(share_of_epoch(samples, options, {.index = i, .count = count}));
    for (size_t batch = 0; batch < whole.size(); ++batch) {
      std::vector<at::Tensor> inputs, targets;
      for (const std::vector<Batch>& part : parts) {
        EXPECT_EQ(part.at(batch).whole_size, whole[batch].size);
        inputs.push_back(part[batch].inputs);
        targets.push_back(part[batch].targets);
      }
      EXPECT_TRUE(at::cat(inputs, 1).equal(whole[batch].inputs)) << count << " processes";
      EXPECT_TRUE(at::cat(targets).equal(whole[batch].targets)) << count << " processes";
    }
  }
}

TEST(Batches, OfSeveralProcessesAreEveryOtherWholeBatch) {
  const Samples samples = numbered_samples(11, 3, 2);
  const BatchOptions options{.batch_size = 2, .order = Order::kSequential};
  const std::vector<Batch> whole = share_of_epoch(samples, options, {});
  for (const int64_t count : {2, 4, 7}) {
    for (int64_t i = 0; i < count; ++i) {
      const BatchShare share{BatchShare::Kind::kWholeBatches, i, count};
      const std::vector<Batch> part = share_of_epoch(samples, options, share);
      size_t number = static_cast<size_t>(i);
      for (const Batch& batch : part) {
        expect_same(batch, whole.at(number));
        number += static_cast<size_t>(count);
      }
      EXPECT_GE(number, whole.size());
    }
  }
}

TEST(Batches, NeedASampleForEachProcess) {
  const BatchOptions options{.batch_size = 2, .share = {.index = 0, .count = 3}};
  Batches batches(numbered_samples(11, 3, 2), options, at::kCPU);
  EXPECT_THROW(batches.start_epoch(0), UserError);
}

TEST(Batches, KeepOrDropTheTail) {
  const Samples samples = numbered_samples(7, 2, 1);
  const Batches keep(samples, {.batch_size = 3}, at::kCPU);
  EXPECT_EQ(keep.batches_per_epoch(), 3);
  EXPECT_EQ(keep.samples_per_epoch(), 7);
  Batches drop(samples, {.batch_size = 3, .tail = TailPolicy::kDrop}, at::kCPU);
  EXPECT_EQ(drop.batches_per_epoch(), 2);
  EXPECT_EQ(drop.samples_per_epoch(), 6);
  for (const Batch& batch : epoch_of(drop, 0)) EXPECT_EQ(batch.size, 3);
}

TEST(Batches, SayWhenDroppingTheTailLeavesNothing) {
  testing::expect_error(ExitCode::kUsage, [] {
    const Batches none(numbered_samples(7, 2, 1), {.batch_size = 8, .tail = TailPolicy::kDrop}, at::kCPU);
  });
}

TEST(Batches, ComeOutTheSameFromThePrefetchThread) {
  for (const Samples& samples : {numbered_samples(23, 4, 3), numbered_tokens(23, 4)}) {
    Batches direct(samples, {.batch_size = 4, .seed = 1}, at::kCPU);
    Batches prefetched(samples, {.batch_size = 4, .seed = 1, .placement = Placement::kHost}, at::kCPU);
    for (const int64_t epoch : {0, 1, 0}) {
      const std::vector<Batch> expected = epoch_of(direct, epoch);
      const std::vector<Batch> actual = epoch_of(prefetched, epoch);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i) expect_same(actual[i], expected[i]);
    }
  }
}

TEST(Batches, OfADroppedEpochDoNotLeakIntoTheNext) {
  const Samples samples = numbered_samples(50, 2, 2);
  Batches direct(samples, {.batch_size = 3, .seed = 1}, at::kCPU);
  Batches prefetched(samples, {.batch_size = 3, .seed = 1, .placement = Placement::kHost}, at::kCPU);
  prefetched.start_epoch(0);
  prefetched.next();
  const std::vector<Batch> expected = epoch_of(direct, 1);
  const std::vector<Batch> actual = epoch_of(prefetched, 1);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) expect_same(actual[i], expected[i]);
}

TEST(Batches, MayBeDestroyedInTheMiddleOfAnEpoch) {
  for (int taken = 0; taken < 4; ++taken) {
    Batches batches(numbered_samples(50, 2, 2), {.batch_size = 1, .placement = Placement::kHost}, at::kCPU);
    batches.start_epoch(0);
    for (int i = 0; i < taken; ++i) EXPECT_TRUE(batches.next());
  }
}

TEST(Batches, MeasureTheWaitAnewForEveryEpoch) {
  Batches batches(numbered_samples(2000, 20, 20), {.batch_size = 10}, at::kCPU);
  epoch_of(batches, 0);
  const double whole_epoch = batches.seconds_waited();
  EXPECT_GT(whole_epoch, 0);
  batches.start_epoch(1);
  const double start = batches.seconds_waited();
  batches.next();
  EXPECT_GT(batches.seconds_waited(), start);
}

TEST(Batches, EndOnceAndStayAtTheEnd) {
  Batches batches(numbered_samples(2, 1, 1), {.batch_size = 2, .placement = Placement::kHost}, at::kCPU);
  EXPECT_EQ(epoch_of(batches, 0).size(), 1u);
  EXPECT_FALSE(batches.next());
}

class BatchesOnCuda : public ::testing::TestWithParam<Placement> {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  }
};

TEST_P(BatchesOnCuda, AreThoseOfTheCpu) {
  for (const Samples& samples :
       {numbered_samples(1037, 28, 28), numbered_samples(1037, 5, 3), numbered_tokens(1037, 28)}) {
    Batches on_cpu(samples, {.batch_size = 64, .seed = 3}, at::kCPU);
    Batches on_cuda(samples, {.batch_size = 64, .seed = 3, .placement = GetParam()}, c10::Device(at::kCUDA, 0));
    EXPECT_EQ(on_cuda.placement(), GetParam());
    for (const int64_t epoch : {0, 1}) {
      const std::vector<Batch> expected = epoch_of(on_cpu, epoch);
      const std::vector<Batch> actual = epoch_of(on_cuda, epoch);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i) {
        EXPECT_TRUE(actual[i].inputs.is_cuda() && actual[i].targets.is_cuda());
        EXPECT_TRUE(actual[i].inputs.is_contiguous());
        expect_same(actual[i], expected[i]);
      }
    }
  }
}

// Each batch is given back before the next is asked for, so that its memory and the pinned buffers are used again at
// once.
TEST_P(BatchesOnCuda, StayWholeWhileBuffersAreUsedAgain) {
  const Samples samples = numbered_samples(4096, 64, 32);
  Batches on_cpu(samples, {.batch_size = 256, .seed = 3}, at::kCPU);
  Batches on_cuda(samples, {.batch_size = 256, .seed = 3, .placement = GetParam()}, c10::Device(at::kCUDA, 0));
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    on_cpu.start_epoch(epoch);
    on_cuda.start_epoch(epoch);
    std::vector<at::Tensor> sums;
    std::vector<double> expected;
    while (std::optional<Batch> batch = on_cuda.next()) sums.push_back(batch->inputs.to(at::kDouble).sum());
    while (std::optional<Batch> batch = on_cpu.next()) {
      expected.push_back(batch->inputs.to(at::kDouble).sum().item<double>());
    }
    ASSERT_EQ(sums.size(), expected.size());
    for (size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i].item<double>(), expected[i]);  // whole numbers: exact
  }
}

// Whether the epoch that comes next was prepared or another one.
TEST_P(BatchesOnCuda, OfAPreparedEpochAreTheSame) {
  const Samples samples = numbered_samples(30, 4, 3);
  Batches on_cpu(samples, {.batch_size = 8, .seed = 3}, at::kCPU);
  Batches on_cuda(samples, {.batch_size = 8, .seed = 3, .placement = GetParam()}, c10::Device(at::kCUDA, 0));
  for (const int64_t prepared : {1, 5}) {
    on_cuda.prepare_epoch(prepared);
    const std::vector<Batch> expected = epoch_of(on_cpu, 1);
    const std::vector<Batch> actual = epoch_of(on_cuda, 1);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) expect_same(actual[i], expected[i]);
  }
}

TEST(SelectionsOnCuda, OfSeveralBatchesAreThoseOfEachOneAfterAnother) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  Batches batches(numbered_tokens(21, 4), {.batch_size = 4, .placement = Placement::kDevice},
                  c10::Device(at::kCUDA, 0));
  batches.start_epoch(0, /*first_batch=*/1);
  EXPECT_EQ(batches.full_batches_left(), 4);
  const at::Tensor three = batches.next_selection(3).value().samples;
  EXPECT_EQ(batches.full_batches_left(), 1);
  const at::Tensor rest = batches.next_selection(3).value().samples;
  EXPECT_EQ(batches.full_batches_left(), 0);
  EXPECT_FALSE(batches.next_selection());
  EXPECT_TRUE(at::cat({three, rest}).cpu().equal(batches.order(0).slice(0, 4)));
}

TEST_P(BatchesOnCuda, MayBeDestroyedInTheMiddleOfAnEpoch) {
  Batches batches(numbered_samples(500, 20, 20), {.batch_size = 7, .placement = GetParam()}, c10::Device(at::kCUDA, 0));
  batches.start_epoch(0);
  EXPECT_TRUE(batches.next());
}

INSTANTIATE_TEST_SUITE_P(, BatchesOnCuda, ::testing::Values(Placement::kDevice, Placement::kHost),
                         [](const auto& test) { return test.param == Placement::kDevice ? "Device" : "Host"; });

TEST(Placement, OnCudaIsTheDeviceWhereTheSamplesFit) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a CUDA GPU";
  const c10::Device cuda(at::kCUDA, 0);
  EXPECT_EQ(choose_placement(numbered_samples(10, 2, 2), Placement::kAutomatic, cuda), Placement::kDevice);
  EXPECT_EQ(choose_placement(numbered_samples(10, 2, 2), Placement::kHost, cuda), Placement::kHost);
  Samples huge;
  huge.inputs = at::arange(1, at::kFloat).expand({int64_t{1} << 40, 1, 1});  // 4 TiB by its shape, 4 bytes in memory
  huge.targets = at::arange(1, at::kLong);
  EXPECT_EQ(choose_placement(huge, Placement::kAutomatic, cuda), Placement::kHost);
  EXPECT_THAT(testing::message_of_error(ExitCode::kDevice, [&] { choose_placement(huge, Placement::kDevice, cuda); }),
              HasSubstr("4.00 TiB"));
}

TEST(Placement, OnACpuIsTheSamplesThemselves) {
  EXPECT_EQ(choose_placement(numbered_samples(10, 2, 2), Placement::kAutomatic, at::kCPU), Placement::kDevice);
  EXPECT_EQ(choose_placement(numbered_samples(10, 2, 2), Placement::kHost, at::kCPU), Placement::kHost);
}

// ---- missing targets ----

Samples with_missing_targets() {
  Samples samples;
  samples.inputs = at::arange(5, at::kFloat).view({5, 1, 1});
  samples.targets = at::tensor({0.F, kUnknown, 2.F, 3.F, kUnknown, 5.F, 6.F, 7.F, 8.F, kUnknown}).view({5, 2});
  return samples;
}

TEST(BatchesOfMissingTargets, CountTheKnownOnes) {
  for (const Placement placement : {Placement::kDevice, Placement::kHost}) {
    Batches batches(with_missing_targets(), {.batch_size = 2, .order = Order::kSequential, .placement = placement},
                    c10::Device(c10::kCPU));
    batches.start_epoch(0);
    std::vector<int64_t> counts, whole;
    while (const auto batch = batches.next()) {
      counts.push_back(batch->num_targets());
      whole.push_back(batch->whole_targets);
    }
    EXPECT_THAT(counts, ElementsAre(3, 3, 1));
    EXPECT_THAT(whole, ElementsAre(3, 3, 1));
    EXPECT_FALSE(batches.has_selections());
  }
}

TEST(BatchesOfMissingTargets, OfSeveralProcessesCountTheirOwnAndAll) {
  for (int64_t rank = 0; rank < 2; ++rank) {
    Batches batches(with_missing_targets(),
                    {.batch_size = 4,
                     .order = Order::kSequential,
                     .share = {.kind = BatchShare::Kind::kPartOfEach, .index = rank, .count = 2}},
                    c10::Device(c10::kCPU));
    batches.start_epoch(0);
    const auto first = batches.next();
    EXPECT_EQ(first->num_targets(), 3) << rank;
    EXPECT_EQ(first->whole_targets, 6) << rank;
    const auto last = batches.next();
    EXPECT_EQ(last->num_targets(), rank == 0 ? 0 : 1);
    EXPECT_EQ(last->whole_targets, 1);
  }
}

TEST(BatchesOfMissingTargets, FollowTheOrderOfTheEpoch) {
  Batches batches(with_missing_targets(), {.batch_size = 2, .seed = 3}, c10::Device(c10::kCPU));
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    batches.start_epoch(epoch);
    while (const auto batch = batches.next())
      EXPECT_EQ(batch->num_targets(), are_known(batch->targets).sum().item<int64_t>());
  }
}

// ---- order ----

std::vector<int64_t> items(const at::Tensor& order) {
  const auto* data = order.const_data_ptr<int64_t>();
  return {data, data + order.numel()};
}

TEST(Permutation, HasTheSameOrderOnEveryMachine) {
  EXPECT_THAT(items(permutation(10, 1, 0)), ElementsAre(0, 8, 1, 4, 2, 3, 6, 9, 7, 5));
  EXPECT_THAT(items(permutation(10, 1, 1)), ElementsAre(3, 4, 6, 9, 0, 5, 1, 2, 8, 7));
  EXPECT_THAT(items(permutation(10, 2, 0)), ElementsAre(8, 9, 3, 4, 2, 7, 1, 0, 6, 5));
}

TEST(Permutation, HoldsEverySampleOnce) {
  std::vector<int64_t> order = items(permutation(1000, 7, 3));
  std::ranges::sort(order);
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(Permutation, OfNoneOrOneSampleIsPlain) {
  EXPECT_THAT(items(permutation(0, 1, 0)), ElementsAre());
  EXPECT_THAT(items(permutation(1, 1, 0)), ElementsAre(0));
}

TEST(Permutation, EveryOrderOfThreeComesAboutEquallyOften) {
  std::map<std::vector<int64_t>, int> counts;
  for (int64_t epoch = 0; epoch < 6000; ++epoch) ++counts[items(permutation(3, 5, epoch))];
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 150);  // five standard deviations
}

}  // namespace
}  // namespace rnnlab
