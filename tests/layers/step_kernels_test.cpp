// SPDX-License-Identifier: Apache-2.0
// The library is not loaded here: the test shows the error of a machine without a GPU on which a step's kernel is
// started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "layers/device/run_kernels.h"
#include "layers/kernels/program_step.h"

namespace rnnlab {
namespace {

TEST(StepKernels, FailAsTheDevicesFaultAndSayWhatToDo) {
  kernels::ProgramStep work;
  work.program = 0;
  work.step.hidden_size = 1;
  const std::vector<kernels::ProgramStep> works(2, work);
  const auto fail = [](const auto& failing) {
    try {
      started_on_device([&] { kernels::run(failing, nullptr); });
      ADD_FAILURE() << "it started";
    } catch (const UserError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kDevice);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("`rnnlab info`"));
    }
  };
  fail(works.front());
  fail(std::span<const kernels::ProgramStep>(works));
}

}  // namespace
}  // namespace rnnlab
