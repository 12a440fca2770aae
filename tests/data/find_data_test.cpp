// SPDX-License-Identifier: Apache-2.0
#include "data/find_data.h"

#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

// DataTest sets the variable to the user's data again.
class FindData : public DataTest {
 protected:
  ~FindData() override { unsetenv("RNNLAB_DATA"); }
};

TEST_F(FindData, LooksInThePathFirst) {
  write("mine/a", "");
  write("data/a", "");
  EXPECT_EQ(find_data({"mine", "a", "mnist", ""}), "mine/a");
  write("data/mine/b", "");
  EXPECT_EQ(find_data({"mine", "b", "mnist", ""}), "data/mine/b");
}

TEST_F(FindData, LooksNowhereElseThanInAPathThatIsGiven) {
  write("data/mnist/a", "");
  error_of(ExitCode::kData, [] { find_data({"elsewhere", "a", "mnist", ""}); });
  EXPECT_EQ(find_data({"", "a", "mnist", ""}), "data/mnist/a");
}

TEST_F(FindData, LooksInTheEnvironmentsFolderBeforeData) {
  write("central/mnist/a", "");
  write("data/a", "");
  EXPECT_EQ(find_data({"", "a", "mnist", ""}), "data/a");
  setenv("RNNLAB_DATA", path("central").c_str(), 1);
  EXPECT_EQ(find_data({"", "a", "mnist", ""}), path("central/mnist/a"));
}

TEST_F(FindData, TakesAPackedFile) {
  write("data/mnist/a.gz", "");
  EXPECT_EQ(find_data({"", "a", "mnist", ""}), "data/mnist/a.gz");
  write("data/mnist/a", "");
  EXPECT_EQ(find_data({"", "a", "mnist", ""}), "data/mnist/a");
}

TEST_F(FindData, TakesAPathThatIsTheFile) {
  write("series.csv", "");
  write("data/other.csv", "");
  EXPECT_EQ(find_data({"series.csv", "", "", ""}), "series.csv");
  EXPECT_EQ(find_data({"other.csv", "", "", ""}), "data/other.csv");
}

TEST_F(FindData, FindsEveryFileOfTheSettings) {
  write("data/x.npy", "");
  write("data/y.npy.gz", "");
  DataSettings settings;
  settings.source = Source::kNpy;
  settings.train_inputs = "x.npy";
  settings.train_targets = "y.npy";
  settings.valid_inputs = "missing.npy";
  EXPECT_EQ(data_files(settings), (std::vector<std::filesystem::path>{"data/x.npy", "data/y.npy.gz"}));
  EXPECT_TRUE(data_files({}).empty()) << "generated";
}

TEST_F(FindData, TakesAnAbsoluteNameAsItStands) {
  write("a", "");
  EXPECT_EQ(find_data({"mine", path("a"), "", ""}), path("a"));
}

TEST_F(FindData, IsNotContentWithAFolder) {
  std::filesystem::create_directory("series.csv");
  expect_golden(error_of(ExitCode::kData, [] { find_data({"series.csv", "", "", "advice"}); }));
}

TEST_F(FindData, AsksForTheNameThatInspectLeftOpen) {
  expect_golden(error_of(ExitCode::kData, [] { find_data({"mine", "FILL_IN", "", ""}); }));
}

TEST_F(FindData, ListsEveryPlaceItLookedAt) {
  setenv("RNNLAB_DATA", path("central").c_str(), 1);
  expect_golden(error_of(ExitCode::kData, [] { find_data({"mine", "a", "mnist", "advice"}); }));
}

TEST_F(FindData, TakesAPathFromTheExperimentsFolderWhereItIsNotHere) {
  write("there/a.csv", "");
  write("there/b.csv.gz", "");
  write("c.csv", "");
  write("there/c.csv", "");
  const auto beside = [](const std::string& file) {
    return resolve_data_path(parse_settings("{source: csv, target: [y], " + file + "}"), "there");
  };
  EXPECT_EQ(beside("path: a.csv"), "there/a.csv");
  EXPECT_EQ(beside("path: b.csv"), "there/b.csv");
  EXPECT_EQ(beside("path: c.csv"), "c.csv") << "the current directory comes first";
  EXPECT_EQ(beside("path: none.csv"), "none.csv");
  EXPECT_EQ(beside("train_file: a.csv"), "there/");
  EXPECT_EQ(resolve_data_path(parse_settings("source: digits"), "there"), "");
}

}  // namespace
}  // namespace rnnlab
