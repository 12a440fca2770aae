#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/program.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::Program;

TEST(DataInspect, ShowsWhatAnExperimentWouldTrainOn) {
  const Program program;
  program.write("tiny.yaml", testing::kTinyYaml);
  const auto result = program.run({"data", "inspect", "tiny.yaml", "data.num_train=30"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("30"));
  EXPECT_THAT(result.output, HasSubstr("28"));
}

TEST(DataInspect, GuessesWhatALoneFileIs) {
  const Program program;
  program.write("a.csv", "x,y\n1,2\n3,4\n");
  const auto result = program.run({"data", "inspect", "a.csv"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("csv"));
}

TEST(DataInspect, MissingFileIsExitCode3) { EXPECT_EQ(Program().run({"data", "inspect", "nowhere.csv"}).exit_code, 3); }

TEST(DataInspect, TakesOneFile) { EXPECT_EQ(Program().run({"data", "inspect", "a", "b"}).exit_code, 2); }

TEST(DataInspect, KeysBelongToExperiments) {
  const auto result = Program().run({"data", "inspect", "a.csv", "data.window=3"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors,
            "rnnlab: error: data inspect: 'data.window=3' sets a key of an experiment, but 'a.csv' is a data file\n");
}

}  // namespace
}  // namespace rnnlab
