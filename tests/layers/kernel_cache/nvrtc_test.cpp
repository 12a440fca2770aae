// SPDX-License-Identifier: Apache-2.0
// NVRTC does not need a GPU; these tests are skipped if it is not installed.
#include "layers/kernel_cache/nvrtc.h"

#include <gmock/gmock.h>

#include <array>

#include "base/expect_error.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Nvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = nvrtc_unavailable_reason()) GTEST_SKIP() << *reason;
  }
};

constexpr std::array<KernelHeader, 1> kHeaders = {
    {{"lib/twice.h", "template <class T> __global__ void twice(T* x) { *x = *x + *x; }"}}};
const KernelProgram kTwice = {"#include \"lib/twice.h\"\n", kHeaders, "sm_90", {"twice<float>", "twice<int>"}};

TEST_F(Nvrtc, CompilesInstancesOfATemplateFromTextInMemory) {
  const CompiledKernels kernels = compile(kTwice);
  EXPECT_THAT(kernels.symbols, ElementsAre("_Z5twiceIfEvPT_", "_Z5twiceIiEvPT_"));
  EXPECT_THAT(kernels.code, StartsWith("\x7f"
                                       "ELF"));
}

TEST_F(Nvrtc, GivesPtxForAVirtualArchitecture) {
  KernelProgram program = kTwice;
  program.architecture = "compute_90";
  EXPECT_THAT(compile(program).code, HasSubstr(".target sm_90"));
}

TEST_F(Nvrtc, RefusesAGpuThatItDoesNotKnow) {
  KernelProgram program = kTwice;
  program.architecture = "sm_999";
  testing::expect_error(ExitCode::kDevice, [&] { compile(program); });
}

TEST_F(Nvrtc, SaysWhereASourceIsWrong) {
  KernelProgram program = kTwice;
  program.source = "#include \"lib/missing.h\"\n";
  EXPECT_THAT(testing::message_of_error(ExitCode::kDevice, [&] { compile(program); }),
              ::testing::AllOf(HasSubstr("sm_90"), HasSubstr("kernels.cu(1): "), HasSubstr("lib/missing.h")));
}

}  // namespace
}  // namespace rnnlab
