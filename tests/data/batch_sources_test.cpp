// SPDX-License-Identifier: Apache-2.0
#include "data/batch_sources.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "base/error.h"

namespace rnnlab {
namespace {

TEST(PrefetchedSource, BringsTheExceptionOfItsThreadToTheCaller) {
  Samples samples;
  samples.inputs = at::zeros({3, 1, 1});
  samples.targets = at::arange(3, at::kLong);
  const auto source = make_prefetched_source(samples, at::kCPU);
  const at::Tensor order = at::arange(5, at::kLong);  // names samples 3 and 4, which are not there
  source->start({.order = order, .batch_size = 1, .num_batches = 5});
  for (int64_t batch = 0; batch < 3; ++batch) EXPECT_EQ(source->fetch(batch).size, 1);
  EXPECT_THROW(source->fetch(3), InvariantError);
  EXPECT_THROW(source->fetch(4), InvariantError);
}

// The GPU's way of keeping samples, on a device that every machine has.
TEST(ResidentSource, GivesTheBatchesOfTheDirectSource) {
  Samples samples;
  samples.inputs = at::arange(5 * 3 * 2, at::kFloat).view({5, 3, 2});
  samples.targets = at::arange(15, at::kLong).view({5, 3});
  samples.lengths = at::arange(5, at::kLong);
  const auto direct = make_direct_source(samples);
  const auto resident = make_resident_source(samples, at::kCPU);
  const EpochPlan plan{.order = at::arange(5, at::kLong).flip(0), .batch_size = 2, .num_batches = 3};
  direct->start(plan);
  resident->start(plan);
  for (int64_t i = 0; i < 3; ++i) {
    const Batch expected = direct->fetch(i);
    const Batch actual = resident->fetch(i);
    EXPECT_TRUE(actual.inputs.is_contiguous());
    EXPECT_TRUE(actual.inputs.equal(expected.inputs));
    EXPECT_TRUE(actual.targets.equal(expected.targets));
    EXPECT_TRUE(actual.lengths.equal(expected.lengths));
  }
}

TEST(BoundedQueue, HoldsNoMoreThanItsCapacity) {
  BoundedQueue<int> queue(2);
  std::atomic<int> pushed = 0;
  std::jthread producer([&](const std::stop_token& stop) {
    for (int i = 0; i < 100 && queue.push(i, stop); ++i) ++pushed;
  });
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(queue.pop(), i);
    EXPECT_LE(pushed, i + 1 + 2 + 1);
  }
}

TEST(BoundedQueue, StopsAProducerThatWaitsForRoom) {
  BoundedQueue<int> queue(1);
  std::stop_source stop;
  EXPECT_TRUE(queue.push(1, stop.get_token()));
  stop.request_stop();
  EXPECT_FALSE(queue.push(2, stop.get_token()));
}

TEST(BoundedQueue, GivesTheItemsBeforeTheFailureFirst) {
  BoundedQueue<int> queue(2);
  queue.push(1, {});
  queue.fail(std::make_exception_ptr(std::runtime_error("torn")));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_THROW(queue.pop(), std::runtime_error);
}

}  // namespace
}  // namespace rnnlab
