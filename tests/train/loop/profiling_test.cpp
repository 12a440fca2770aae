// SPDX-License-Identifier: Apache-2.0
#include "train/loop/profiling.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kineto/ActivityType.h>
#include <torch/cuda.h>

#include <algorithm>
#include <tuple>

#include "train/loop/toy.h"

namespace rnnlab {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

struct SeenRange {
  std::string name;
  uint64_t start_ns;
  uint64_t end_ns;
};

std::vector<SeenRange> ranges_of(const torch::autograd::profiler::ProfilerResult& result) {
  std::vector<SeenRange> ranges;
  for (const auto& event : result.events()) {
    const auto type = static_cast<libkineto::ActivityType>(event.activityType());
    if (type == libkineto::ActivityType::USER_ANNOTATION)
      ranges.push_back({event.name(), event.startNs(), event.endNs()});
  }
  std::ranges::sort(ranges, [](const SeenRange& a, const SeenRange& b) {
    return std::tuple(a.start_ns, b.end_ns) < std::tuple(b.start_ns, a.end_ns);
  });
  return ranges;
}

std::vector<SeenRange> ranges_during(const std::function<void()>& work) {
  Profiling profiling({Profiling::Activity::CPU});
  work();
  return ranges_of(*profiling.finish());
}

std::vector<std::string> names(const std::vector<SeenRange>& ranges) {
  std::vector<std::string> all;
  for (const SeenRange& range : ranges) all.push_back(range.name);
  return all;
}

// Returns the operators in the first range of this name.
std::vector<std::string> names_within(const std::vector<SeenRange>& ranges, const std::string& name) {
  const auto outer = std::ranges::find(ranges, name, &SeenRange::name);
  if (outer == ranges.end()) return {"no " + name};
  std::vector<std::string> inner;
  for (auto range = outer + 1; range != ranges.end() && range->end_ns <= outer->end_ns; ++range)
    inner.push_back(range->name);
  return inner;
}

TEST(TraceRange, NestsInAProfile) {
  const auto ranges = ranges_during([] {
    const TraceRange outer("outer");
    { const TraceRange first("first"); }
    const TraceRange second("second");
  });
  EXPECT_THAT(names(ranges), ElementsAre("outer", "first", "second"));
  EXPECT_THAT(names_within(ranges, "outer"), ElementsAre("first", "second"));
}

TEST(TraceRange, EndsWithAnException) {
  const auto ranges = ranges_during([] {
    try {
      const TraceRange thrown("thrown");
      throw std::runtime_error("no");
    } catch (const std::runtime_error&) {  // is empty, because the test is about the range
    }
    const TraceRange later("later");
  });
  EXPECT_THAT(names(ranges), ElementsAre("thrown", "later"));
  EXPECT_THAT(names_within(ranges, "thrown"), IsEmpty());
}

TEST(TraceRange, OneThatBeganBeforeTheProfileIsNotInIt) {
  const TraceRange before("before");
  EXPECT_THAT(names(ranges_during([] { const TraceRange during("during"); })), ElementsAre("during"));
}

TEST(TraceRange, MayOutliveTheProfile) {
  Profiling profiling({Profiling::Activity::CPU});
  {
    const TraceRange open("open");
    EXPECT_THAT(names(ranges_of(*profiling.finish())), IsEmpty()) << "it has no end yet";
  }
  EXPECT_THAT(names(ranges_during([] { const TraceRange next("next"); })), ElementsAre("next"));
}

TEST(TrainingRanges, NameWhatAStepAndAnEpochDo) {
  TrainerOptions options = toy_options();
  options.settings.epochs = 1;
  options.settings.batch_size = 96;
  options.settings.clip_norm = 1.0;
  const auto ranges = ranges_during([&] { run_toy(toy_dataset(), options); });
  const std::string layer = "rnnlab::RecurrentLayer::forward";
  EXPECT_THAT(names_within(ranges, "step"), ElementsAre("forward", layer, "loss", "backward", "clip", "update"));
  EXPECT_THAT(names_within(ranges, "validate"), ElementsAre("batch", "forward", layer, "loss", "batch"));
  EXPECT_THAT(
      names_within(ranges, "epoch"),
      ElementsAre("batch", "step", "forward", layer, "loss", "backward", "clip", "update", "record", "observers",
                  "batch", "read back", "validate", "batch", "forward", layer, "loss", "batch", "observers"));
}

TEST(TrainingRanges, NameCaptureAndReplayOfGraphs) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  TrainerOptions options = toy_options();
  options.device = c10::Device(c10::kCUDA, 0);
  options.settings.cuda_graph = true;
  options.settings.epochs = 4;
  const auto ranges = ranges_during([&] { run_toy(toy_dataset(), options); });
  EXPECT_THAT(names_within(ranges, "graph capture"), IsSupersetOf({"batch", "step", "forward", "backward", "update"}));
  EXPECT_THAT(names_within(ranges, "graph replay"), IsEmpty());
  EXPECT_THAT(names_within(ranges, "epoch"), Contains("wait for the device"));
}

constexpr int64_t kMebibyte = 1 << 20;

TEST(PeakMemory, OfACpuIsTheProcesssSinceTheLastReset) {
  const c10::Device cpu(at::kCPU);
  reset_peak_memory(cpu);
  const auto before = peak_memory_bytes(cpu);
  if (!before) GTEST_SKIP() << "this system does not reset the count";
  { const auto large = at::ones({64 * kMebibyte}, at::kByte); }
  EXPECT_GE(peak_memory_bytes(cpu).value(), *before + 60 * kMebibyte);
  release_cached_memory();
  reset_peak_memory(cpu);
  EXPECT_LT(peak_memory_bytes(cpu).value(), *before + 32 * kMebibyte);
}

TEST(PeakMemory, OfAGpuCountsFromTheLastReset) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const c10::Device gpu(at::kCUDA, 0);
  reset_peak_memory(gpu);
  const int64_t in_use = peak_memory_bytes(gpu).value();  // libraries keep what they took for earlier work
  { const auto large = at::empty({8 * kMebibyte}, at::TensorOptions(at::kByte).device(gpu)); }
  EXPECT_GE(peak_memory_bytes(gpu).value(), in_use + 8 * kMebibyte);
  reset_peak_memory(gpu);
  EXPECT_EQ(peak_memory_bytes(gpu), in_use);
}

int64_t reserved_bytes(c10::Device gpu) {
  const auto stats = c10::getDeviceAllocator(gpu.type())->getDeviceStats(gpu.index());
  return stats.reserved_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].current;
}

TEST(ReleaseCachedMemory, GivesBackWhatAGpusAllocatorKept) {
  release_cached_memory();  // must not fail if there is no GPU, or if no GPU has been used
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const c10::Device gpu(at::kCUDA, 0);
  { const auto large = at::empty({64 * kMebibyte}, at::TensorOptions(at::kByte).device(gpu)); }
  const int64_t kept = reserved_bytes(gpu);
  release_cached_memory();
  EXPECT_LE(reserved_bytes(gpu), kept - 64 * kMebibyte);
}

}  // namespace
}  // namespace rnnlab
