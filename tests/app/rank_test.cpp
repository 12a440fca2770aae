// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/program.h"

namespace rnnlab {
namespace {

using testing::kTinyYaml;
using testing::Program;
using ::testing::StartsWith;
using testing::with;
using testing::Words;

class Rank : public ::testing::Test {
 protected:
  void train(const Words& overrides) const { program_.run(with({"train", "tiny.yaml", "--quiet"}, overrides), 0); }

  const Program program_{kTinyYaml};
};

TEST_F(Rank, SortsTheSettingsOfASweepWithTheirSeeds) {
  train({"sweep={model.hidden_size: [2, 12], seed: [1, 2]}"});
  const auto result = program_.run({"rank", "runs/tiny"}, 0);
  EXPECT_THAT(result.output, StartsWith("#  run        hidden_size  seeds  "));
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
  const auto result = program_.run({"rank", "runs", "--by", "valid_loss"}, 0);
  EXPECT_THAT(result.output, StartsWith("#  name   run        batch_size  "));
  EXPECT_THAT(program_.run({"rank", "runs", "--csv"}).output,
              StartsWith("rank,name,device,layer,training.batch_size,seeds,"));
}

TEST_F(Rank, NamesTheMetricsThatThereAre) {
  train({"training.epochs=1"});
  program_.expect_error(2, {"rank", "runs/tiny", "--by", "valid_rmse"});
}

}  // namespace
}  // namespace rnnlab
