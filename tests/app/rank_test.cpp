// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/program.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::kTinyYaml;
using testing::Program;
using ::testing::StartsWith;

class Rank : public ::testing::Test {
 protected:
  void train(const std::vector<std::string>& overrides) {
    program_.write("tiny.yaml", kTinyYaml);
    std::vector<std::string> arguments = {"train", "tiny.yaml", "--quiet"};
    arguments.insert(arguments.end(), overrides.begin(), overrides.end());
    EXPECT_EQ(program_.run(arguments).exit_code, 0);
  }
  Program program_;
};

TEST_F(Rank, SortsTheSettingsOfASweepWithTheirSeeds) {
  train({"sweep={model.hidden_size: [2, 12], seed: [1, 2]}"});
  const auto result = program_.run({"rank", "runs/tiny"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, StartsWith("#  run        hidden_size  seeds  valid acc  "));
  const auto json = nlohmann::json::parse(program_.run({"rank", "runs/tiny", "--json"}).output);
  EXPECT_EQ(json["metric"], "valid_accuracy");
  EXPECT_EQ(json["settings"].dump(), R"(["model.hidden_size"])");
  EXPECT_GE(json["ranks"][0]["mean"].get<double>(), json["ranks"][1]["mean"].get<double>());
  EXPECT_EQ(json["ranks"][0]["seeds"].dump(), "[1,2]");
  EXPECT_TRUE(json["ranks"][0]["standard_deviation"].is_number());
}

// compare refuses such runs.
TEST_F(Rank, TakesAFolderOfExperimentsThatAreUnlike) {
  train({"training.epochs=1"});
  train({"training.epochs=1", "name=other", "training.batch_size=20"});
  const auto result = program_.run({"rank", "runs", "--by", "valid_loss"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, StartsWith("#  name   run        batch_size  seeds  valid loss  "));
  EXPECT_THAT(program_.run({"rank", "runs", "--csv"}).output,
              StartsWith("rank,name,device,layer,training.batch_size,seeds,"));
}

TEST_F(Rank, NamesTheMetricsThatThereAre) {
  train({"training.epochs=1"});
  const auto result = program_.run({"rank", "runs/tiny", "--by", "valid_rmse"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("--by: got 'valid_rmse', expected train_loss, train_accuracy, valid_loss or "
                                       "valid_accuracy"));
}

}  // namespace
}  // namespace rnnlab
