// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/program.h"
#include "base/text.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::Program;

TEST(Info, ShowsMachineLibrariesDevicesAndLayers) {
  const auto result = Program().run({"info"}, 0);
  for (const char* part : {"LibTorch 2.11.0", "cpu", "device:", "naive", "fused", "activation: relu"})
    EXPECT_THAT(result.output, HasSubstr(part));
}

TEST(Info, FitsTheTerminal) {
  if (!testing::has_pseudo_terminals()) GTEST_SKIP() << "no pseudo-terminals";
  const std::string shown = Program().run_on_terminal({"info"}, "xterm").output;
  for (const std::string& line : split(shown.substr(shown.find("\ndevice:")), '\n'))
    EXPECT_LE(display_width(line), 80u) << line;
}

TEST(Info, SaysALimitOfSeveralLayersOnce) {
  const std::string output = Program().run({"info"}).output;
  const std::string limit = "  streamed, wavefront, diagonal\n    - needs CUDA streams; on a CPU use layer: blocked\n";
  EXPECT_THAT(output, HasSubstr(limit));
  EXPECT_EQ(output.find("reset_gate: before, only after"), output.rfind("reset_gate: before, only after"));
}

TEST(Info, ListsThePrecisionsOfTheDevicesThatAreHere) {
  const std::string output = Program().run({"info"}).output;
  const bool has_gpu = output.find("device:     cpu\n") == std::string::npos;
  EXPECT_THAT(output, HasSubstr(has_gpu ? ", bf16, fp16\n" : ", bf16\n"));
}

TEST(Info, GivesTheSameAsJson) {
  const auto result = Program().run({"info", "--json"}, 0);
  EXPECT_THAT(result.output, HasSubstr("\"devices\": ["));
}

}  // namespace
}  // namespace rnnlab
