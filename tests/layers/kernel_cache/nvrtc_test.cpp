// SPDX-License-Identifier: Apache-2.0
// NVRTC does not need a GPU; these tests are skipped if it is not installed.
#include "layers/kernel_cache/nvrtc.h"

#include <gmock/gmock.h>

#include <array>

#include "base/error.h"
#include "golden.h"

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

UserError error_of(const KernelProgram& program) {
  try {
    compile(program);
  } catch (const UserError& error) {
    return error;
  }
  ADD_FAILURE() << "compiled";
  return UserError(ExitCode::kDone, "no error");
}

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
  expect_golden(error_of(program).what());
}

TEST_F(Nvrtc, SaysWhereASourceIsWrong) {
  KernelProgram program = kTwice;
  program.source = "#include \"lib/missing.h\"\n";
  const UserError error = error_of(program);
  EXPECT_EQ(error.exit_code(), ExitCode::kDevice);
  EXPECT_THAT(error.what(), HasSubstr("a kernel does not compile for sm_90; use layer: cudnn, and report this: "));
  EXPECT_THAT(error.what(), HasSubstr("kernels.cu(1): "));
  EXPECT_THAT(error.what(), HasSubstr("lib/missing.h"));
}

}  // namespace
}  // namespace rnnlab
