// SPDX-License-Identifier: Apache-2.0
#include "runs/machine_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "golden.h"
#include "layers/refusals.h"

namespace rnnlab {
namespace {

using ::testing::MatchesRegex;

GpuInfo info_of(const std::string& name, int64_t major, int64_t minor) {
  GpuInfo info;
  info.name = name;
  info.compute_capability_major = major;
  info.compute_capability_minor = minor;
  return info;
}

const Gpu kT4 = {.name = "Tesla T4", .capability = {7, 5}, .has_own_kernels = false};

std::vector<std::string> refusals_of(const std::string& layer, const std::vector<Gpu>& gpus) {
  const auto layers = layer_reports(gpus);
  return std::ranges::find(layers, layer, &LayerReport::name)->refusals;
}

TEST(LayerReports, NameTheLayersThatAGpuLeavesOut) {
  expect_golden(refusals_of("persistent", {kT4}));
  for (const std::string& refusal : refusals_of("hoisted", {kT4})) expect_golden(of_any_build(refusal));
  EXPECT_EQ(refusals_of("fused", {kT4}), refusals_of("fused", {}));
}

TEST(GpusOf, KnowWhetherTheBuildHasCodeForAGpu) {
  GpuSurvey survey;
  survey.gpus.push_back(info_of("Tesla K80", 3, 7));
  const auto gpus = gpus_of(survey);
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].capability, (Capability{3, 7}));
  EXPECT_FALSE(gpus[0].has_own_kernels) << "which no build has code for";
}

TEST(MachineReport, NamesTheCapabilityOfAGpuAndTheCodeOfTheBuild) {
  MachineReport report;
  report.own_kernels = "code for 9.0";
  report.gpus = {{"Tesla T4", "7.5", false}};
  report.environment.nvidia.gpus.push_back(info_of("Tesla T4", 7, 5));
  const std::string text = machine_report_text(report);
  EXPECT_THAT(text, ::testing::HasSubstr("gpu         Tesla T4, compute capability 7.5, "));
  EXPECT_THAT(text, ::testing::HasSubstr("for 9.0\n            none for Tesla T4: "));
}

TEST(MachineReport, KeepsToTheWidth) {
  constexpr size_t kWidth = 60;
  MachineReport report;
  for (int i = 0; i < 16; ++i) report.devices.push_back("cuda:" + std::to_string(i));
  report.layers = layer_reports({});
  for (LayerReport& layer : report.layers) layer.refusals = {"a limit of all layers"};
  report.warnings.emplace_back(warning::kOther, "words of four " + join(std::vector<std::string>(40, "five"), " "));
  const std::string text = machine_report_text(report, kWidth);
  for (const std::string& line : split(text.substr(text.find("\ndevice:")), '\n'))
    EXPECT_LE(display_width(line), kWidth) << line;
}

TEST(IsaInVerbose, IsFoundInTheVerboseText) {
  EXPECT_EQ(isa_in_verbose("onednn_verbose,v1,info,oneDNN v3.10.2\nonednn_verbose,v1,info,cpu,isa:Intel SSE4.1 \n"
                           "onednn_verbose,v1,info,gpu,runtime:none\n"),
            "Intel SSE4.1");
  EXPECT_EQ(isa_in_verbose("something else\n"), "");
}

TEST(InstructionSets, AreNamed) {
  const InstructionSets sets = instruction_sets();
  EXPECT_NE(sets.aten, "");
  EXPECT_NE(sets.onednn, "");
  EXPECT_NE(sets.mkl, "");
  EXPECT_EQ(instruction_sets(), sets);
}

TEST(InstructionSets, PrintNothingOnStandardOutput) {
  ::testing::internal::CaptureStdout();
  instruction_sets();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(SoftwareVersions, AreThoseOfTheLoadedLibrary) {
  const SoftwareVersions versions = software_versions();
  EXPECT_THAT(versions.libtorch, MatchesRegex("2\\.11\\.0.*"));
  EXPECT_THAT(versions.libtorch_commit, MatchesRegex("[0-9a-f]{40}"));
}

}  // namespace
}  // namespace rnnlab
