#include "experiment/instruction_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiment/versions.h"

namespace rnnlab {
namespace {

using ::testing::MatchesRegex;

TEST(IsaInVerbose, IsWhatOneDnnSaysOfItself) {
  EXPECT_EQ(isa_in_verbose("onednn_verbose,v1,info,oneDNN v3.10.2\nonednn_verbose,v1,info,cpu,isa:Intel SSE4.1 \n"
                           "onednn_verbose,v1,info,gpu,runtime:none\n"),
            "Intel SSE4.1");
  EXPECT_EQ(isa_in_verbose("something else\n"), "");
}

TEST(InstructionSets, AreTold) {
  const InstructionSets sets = instruction_sets();
  EXPECT_NE(sets.aten, "");
  EXPECT_NE(sets.onednn, "");
  EXPECT_NE(sets.mkl, "");
  EXPECT_EQ(instruction_sets(), sets);
}

TEST(InstructionSets, AreAskedWithoutAWordOnStandardOutput) {
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
