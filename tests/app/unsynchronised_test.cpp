// SPDX-License-Identifier: Apache-2.0
// Tests a timer that really does not wait for the GPU: the program is unchanged, but its CUDA runtime does not wait.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/program.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Program;

// Few steps of much work, which the host queues in a fraction of the time that they take.
constexpr const char* kHeavyYaml = R"(name: heavy
device: cuda
layer: fused
data: {source: digits, num_train: 4096, num_valid: 0}
model: {hidden_size: 1024}
training: {epochs: 4, batch_size: 512}
)";

std::string compared_by(const std::string& environment) {
  const Program program;
  program.write("heavy.yaml", kHeavyYaml);
  for (int run = 0; run < 2; ++run) {
    const auto trained = program.run_in_shell(environment + " \"$0\" train --quiet heavy.yaml");
    EXPECT_EQ(trained.exit_code, 0) << trained.errors;
  }
  return program.run({"compare", "runs/heavy"}).output;
}

TEST(UnsynchronisedTimer, IsAWarning) {
  const Program program;
  if (program.run_in_shell("\"$0\" info | grep -q '^device:.*cuda'").exit_code != 0) GTEST_SKIP() << "no GPU";
  EXPECT_THAT(compared_by(fmt::format("LD_PRELOAD={}", RNNLAB_UNWAITING_CLOCK)),
              HasSubstr(": UNSYNCHRONISED TIMER: epochs of "));
  EXPECT_THAT(compared_by(""), Not(HasSubstr("UNSYNCHRONISED")));
}

}  // namespace
}  // namespace rnnlab
