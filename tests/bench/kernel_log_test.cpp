#include "bench/kernel_log.h"

#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tanh.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <stdexcept>

namespace rnnlab {
namespace {

std::map<std::string, int64_t> counts(const std::vector<KernelUse>& uses) {
  std::map<std::string, int64_t> by_name;
  for (const KernelUse& use : uses) by_name[use.name] = use.count;
  return by_name;
}

TEST(SelfTimes, ACallIsChargedWithoutThoseWithin) {
  const auto uses = self_times({{.name = "outer", .thread = 1, .start_ns = 0, .end_ns = 100},
                                {.name = "inner", .thread = 1, .start_ns = 10, .end_ns = 30},
                                {.name = "deep", .thread = 1, .start_ns = 15, .end_ns = 20},
                                {.name = "inner", .thread = 1, .start_ns = 40, .end_ns = 50}});
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(uses[0].name, "outer");
  EXPECT_DOUBLE_EQ(uses[0].seconds, 70e-9);
  EXPECT_EQ(uses[1].name, "inner");
  EXPECT_EQ(uses[1].count, 2);
  EXPECT_DOUBLE_EQ(uses[1].seconds, 25e-9);
  EXPECT_DOUBLE_EQ(uses[2].seconds, 5e-9);
}

TEST(SelfTimes, ThreadsHaveNothingToDoWithEachOther) {
  const auto uses = self_times({{.name = "a", .thread = 1, .start_ns = 0, .end_ns = 100},
                                {.name = "b", .thread = 2, .start_ns = 10, .end_ns = 30}});
  EXPECT_DOUBLE_EQ(uses.at(0).seconds, 100e-9);
  EXPECT_DOUBLE_EQ(uses.at(1).seconds, 20e-9);
}

TEST(SelfTimes, CallsOfTheSameMomentNest) {
  const auto uses = self_times({{.name = "inner", .thread = 1, .start_ns = 0, .end_ns = 40},
                                {.name = "outer", .thread = 1, .start_ns = 0, .end_ns = 100}});
  EXPECT_EQ(uses.at(0).name, "outer");
  EXPECT_DOUBLE_EQ(uses.at(0).seconds, 60e-9);
}

TEST(KernelLog, NamesTheOperatorsOfTheCpu) {
  const at::Tensor a = at::rand({8, 8});
  const auto seen = counts(kernels_during(c10::kCPU, [&] {
    at::mm(a, a);
    at::mm(a, a);
    at::tanh(a);
  }));
  EXPECT_EQ(seen.at("aten::mm"), 2);
  EXPECT_EQ(seen.at("aten::tanh"), 1);
}

TEST(KernelLog, EndsWithAnExceptionAndCanBeUsedAgain) {
  EXPECT_THROW(kernels_during(c10::kCPU, [] { throw std::runtime_error("no"); }), std::runtime_error);
  const at::Tensor a = at::rand({8, 8});
  EXPECT_EQ(counts(kernels_during(c10::kCPU, [&] { at::tanh(a); })).at("aten::tanh"), 1);
}

TEST(KernelLog, NamesTheKernelsOfAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA";
  const c10::Device gpu(c10::kCUDA, 0);
  const at::Tensor a = at::rand({64, 64}, at::TensorOptions(gpu));
  const auto uses = kernels_during(gpu, [&] { at::tanh(a); });
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].count, 1);
  EXPECT_GT(uses[0].seconds, 0);
}

}  // namespace
}  // namespace rnnlab
