// SPDX-License-Identifier: Apache-2.0
#include "layers/device/gpu_support.h"
#include "golden.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/kernels/own_code.h"
#include "layers/on_cuda.h"
#include "layers/refusals.h"

namespace rnnlab {
namespace {

using kernels::runs_on;

const Gpu kT4 = {.name = "Tesla T4", .capability = {7, 5}, .has_own_kernels = true};
const Gpu kA100WithoutKernels = {.name = "NVIDIA A100", .capability = {8, 0}, .has_own_kernels = false};
const Gpu kH200 = {.name = "NVIDIA H200", .capability = {9, 0}, .has_own_kernels = true};

TEST(OwnCode, RunsOnLaterMinorVersionsOfItsMajorOne) {
  EXPECT_TRUE(runs_on("80-real", {8, 0}));
  EXPECT_TRUE(runs_on("80-real", {8, 9}));
  EXPECT_FALSE(runs_on("86-real", {8, 0}));
  EXPECT_FALSE(runs_on("80-real", {9, 0}));
}

TEST(OwnCode, RunsAsPtxOnWhateverComesLater) {
  EXPECT_TRUE(runs_on("75-virtual", {7, 5}));
  EXPECT_TRUE(runs_on("75-virtual", {12, 0}));
  EXPECT_FALSE(runs_on("80-virtual", {7, 5}));
}

TEST(OwnCode, OfTheListForAllGpusRunsOnEachThatLibTorchRunsOn) {
  const std::string_view all = "75-real 80-real 90-real 100-real 120";
  for (const Capability gpu : {Capability{7, 5}, {8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {10, 3}, {12, 0}, {13, 0}})
    EXPECT_TRUE(runs_on(all, gpu)) << text_of(gpu);
  EXPECT_FALSE(runs_on(all, {7, 0})) << "which LibTorch does not run on";
}

TEST(OwnCode, IsDescribedForPeople) {
  expect_golden(kernels::described("75-real 80-real 120"));
  EXPECT_EQ(kernels::described("75-virtual"), "PTX for 7.5");
  EXPECT_EQ(kernels::described("90-real"), "code for 9.0");
}

TEST(Refusal, OfPersistentNamesTheCapabilityThatItNeedsAndTheOneThatIsThere) {
  expect_golden(refusal_of(LayerKind::kPersistent, kT4));
  EXPECT_EQ(refusal_of(LayerKind::kPersistent, kH200), std::nullopt);
}

TEST(Refusal, OfPersistentNamesASizeThatOnlyOtherGpusHaveKernelsFor) {
  const Gpu b200 = {.name = "NVIDIA B200", .capability = {10, 0}, .has_own_kernels = true};
  const auto reason = [](LayerKind kind, int64_t hidden_size, const Gpu& gpu) {
    return refusal_of(
        kind,
        LayerWork{.options = RecurrentOptions{.hidden_size = hidden_size}, .precision = Precision::kTf32, .gpu = gpu});
  };
  expect_golden(reason(LayerKind::kPersistent, 1280, b200));
  EXPECT_EQ(reason(LayerKind::kPersistent, 1024, b200), std::nullopt);
  EXPECT_EQ(reason(LayerKind::kPersistent, 1280, kH200), std::nullopt);
  EXPECT_EQ(reason(LayerKind::kCudnn, 1280, b200), std::nullopt);
}

TEST(Refusal, OfLayersMadeOfOwnKernelsSaysHowToGetCodeForTheGpu) {
  for (const LayerKind kind : {LayerKind::kFusedPointwise, LayerKind::kPretransposed, LayerKind::kHoisted,
                               LayerKind::kWavefront, LayerKind::kDiagonal}) {
    expect_golden(of_any_build(refusal_of(kind, kA100WithoutKernels).value()));
    EXPECT_EQ(refusal_of(kind, kT4), std::nullopt) << config::name_of(kind);
  }
}

TEST(Refusal, LeavesLibrariesAndPlainLoopsToEveryGpu) {
  for (const LayerKind kind :
       {LayerKind::kNaive, LayerKind::kGrouped, LayerKind::kStreamed, LayerKind::kFused, LayerKind::kCudnn})
    EXPECT_EQ(refusal_of(kind, kA100WithoutKernels), std::nullopt) << config::name_of(kind);
}

TEST(HasOwnKernels, IsFalseForACpu) { EXPECT_FALSE(has_own_kernels(c10::Device(c10::kCPU))); }

class OwnKernelsOnCuda : public OnCuda {};

TEST_F(OwnKernelsOnCuda, AreThereWhereTheListOfTheBuildSaysSo) {
  const c10::Device device(c10::kCUDA, 0);
  EXPECT_EQ(has_own_kernels(device), runs_on(kernels::own_code(), gpu_of(device).capability));
}

}  // namespace
}  // namespace rnnlab
