// SPDX-License-Identifier: Apache-2.0
// A back-test as a user runs it: one key, and tables over its folds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "app/program.h"

namespace rnnlab {
namespace {

using ::testing::HasSubstr;
using testing::Program;
using ::testing::StartsWith;
using testing::with;
using testing::Words;

constexpr const char* kWaves = R"(name: waves
device: cpu
layer: fused
data: {source: csv, path: waves.csv, features: [y], target: [y], window: 4, num_valid: 6}
model: {kind: sequence_regressor, hidden_size: 2}
training: {epochs: 1, batch_size: 16}
)";

class Folds : public ::testing::Test {
 protected:
  Folds() { write_waves(60); }
  // The rows from `changed` on have other values.
  void write_waves(int changed) const {
    std::string table = "y\n";
    for (int row = 0; row < 60; ++row)
      table += fmt::format("{:.4f}\n", row < changed ? std::sin(0.7 * row) + 0.1 * (row % 3) : 1000.0 + row);
    program_.write("waves.csv", table);
  }
  nlohmann::json summary_of(const std::string& name) const {
    const auto folder = program_.folder() / "runs" / name / program_.run_folders(name).at(0);
    return nlohmann::json::parse(testing::read_text(folder / "summary.json"));
  }
  nlohmann::json json_of(const Words& arguments) const {
    return nlohmann::json::parse(program_.run(arguments, 0).output);
  }

  const Program program_{kWaves, "waves.yaml"};
};

TEST_F(Folds, AreRunsOfOneCommand) {
  const auto result = program_.run({"train", "waves.yaml", "--quiet", "data.folds=3"}, 0);
  EXPECT_EQ(program_.run_folders("waves").size(), 3u);
  EXPECT_THAT(result.output, StartsWith("#  run        seeds  valid RMSE  spread  seed spread  no model  folds "));
  EXPECT_THAT(result.output, HasSubstr("3 of 3"));
  std::set<int64_t> folds;
  const auto comparison = json_of({"compare", "runs/waves", "--json"});
  for (const auto& group : comparison["groups"]) folds.insert(group["fold"].get<int64_t>());
  EXPECT_EQ(folds, (std::set<int64_t>{1, 2, 3}));
}

TEST_F(Folds, RunAgainInEachRepeat) {
  const auto result = program_.run({"train", "waves.yaml", "data.folds=2", "repeats=2"}, 0);
  EXPECT_THAT(result.errors, HasSubstr("sweep={seed: [1, 2, 3]}")) << "repeats have one seed";
  EXPECT_EQ(program_.run_folders("waves").size(), 4u);
  const auto comparison = json_of({"compare", "runs/waves", "--json"});
  ASSERT_EQ(comparison["groups"].size(), 2u);
  EXPECT_EQ(comparison["groups"][0]["folders"].size(), 2u);
  EXPECT_TRUE(comparison["groups"][1]["ratio"].is_null());
  EXPECT_EQ(comparison["over_folds"]["ranks"][0]["num_folds"], 2);
}

TEST_F(Folds, AreCombinedWithTheSettingsAndSeedsOfASweep) {
  program_.run({"train", "waves.yaml", "--quiet", "data.folds=2", "sweep={model.hidden_size: [2, 4], seed: [1, 2]}"},
               0);
  EXPECT_EQ(program_.run_folders("waves").size(), 8u);
  const auto ranks = json_of({"rank", "runs/waves", "--json"})["ranks"];
  ASSERT_EQ(ranks.size(), 2u);
  for (const auto& row : ranks) {
    EXPECT_EQ(row["folds"].size(), 2u);
    EXPECT_EQ(row["folds"][0]["seeds"].dump(), "[1,2]");
    EXPECT_TRUE(row["seed_deviation"].is_number());
    const double mean = (row["folds"][0]["mean"].get<double>() + row["folds"][1]["mean"].get<double>()) / 2;
    EXPECT_DOUBLE_EQ(row["mean"].get<double>(), mean);
  }
}

TEST_F(Folds, CanBeTrainedAlone) {
  program_.run({"train", "waves.yaml", "--quiet", "data.folds=3", "data.fold=2"}, 0);
  EXPECT_EQ(program_.run_folders("waves").size(), 1u);
  program_.run({"evaluate", "waves"}, 0);
  program_.expect_error(2, {"evaluate", "waves", "data.fold=1"});
}

// The first of three folds validates the rows 42 to 47.
TEST_F(Folds, TrainAndCompareWithoutLaterValues) {
  const Words train = {"train", "waves.yaml", "--quiet", "data.folds=3", "data.fold=1"};
  program_.run(with(train, {"name=before"}), 0);
  write_waves(48);
  program_.run(with(train, {"name=after"}), 0);
  const auto before = summary_of("before"), after = summary_of("after");
  EXPECT_EQ(before["identity"]["data_fingerprint"], after["identity"]["data_fingerprint"]);
  EXPECT_EQ(before["baselines"], after["baselines"]);
  EXPECT_EQ(before["baselines"].size(), 3u) << "the last value, the mean and a ridge regression";
  EXPECT_EQ(before["final_metrics"], after["final_metrics"]);
}

TEST_F(Folds, AreTasksOfAPlan) {
  program_.run({"sweep", "plan", "waves.yaml", "data.folds=3", "--out", "plan"}, 0);
  program_.run({"sweep", "work", "plan"}, 0);
  EXPECT_EQ(json_of({"rank", "plan", "--json"})["ranks"][0]["folds"].size(), 3u);
}

TEST_F(Folds, AreCheckedBeforeTheFirstRun) {
  program_.expect_error(2, {"train", "waves.yaml", "data.folds=1"});
  program_.expect_error(2, {"train", "waves.yaml", "data.folds=3", "data.valid_fraction=0.5", "data.num_valid=null"});
  const auto cases = json_of({"check", "waves.yaml", "data.folds=3", "--json"})["files"][0]["cases"];
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[2]["label"], "fold=3");
  EXPECT_EQ(cases[2]["settings"]["data"]["fold"], 3);
  EXPECT_THAT(program_.run({"check", "waves.yaml", "data.folds=3"}, 0).output, HasSubstr("folds: 3"));
}

TEST_F(Folds, AreRefusedOnceIfTheRowsAreTooFew) {
  program_.expect_error(3, {"train", "waves.yaml", "--quiet", "data.folds=10"});
  EXPECT_THAT(program_.run_folders("waves"), ::testing::IsEmpty());
}

}  // namespace
}  // namespace rnnlab
