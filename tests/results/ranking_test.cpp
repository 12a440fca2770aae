// SPDX-License-Identifier: Apache-2.0
#include "results/ranking.h"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/expect_error.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Returns a run of a regressor whose epochs had these validation errors; each epoch took two seconds.
RunRecord run_of(const std::string& cell, int64_t seed, const std::vector<double>& rmse) {
  RunRecord run;
  run.folder = "runs/levels/" + cell + std::to_string(seed);
  run.config = {
      {"name", "levels"}, {"seed", std::to_string(seed)}, {"model.cell", cell}, {"data.path", "/home/a/l.csv"}};
  run.summary.name = "levels";
  run.summary.device = "cpu";
  run.summary.layer = "fused";
  run.summary.seed = seed;
  run.summary.turn.process = run.folder;
  run.summary.epochs = std::ssize(rmse);
  for (const double error : rmse) {
    EpochRow& row = run.rows.emplace_back();
    row.epoch = std::ssize(run.rows);
    row.train_seconds = 2;
    row.metrics["valid_rmse"] = error;
    row.valid_loss = error * error;
  }
  run.summary.epoch_time = epoch_time(run.rows);
  return run;
}

std::vector<RunRecord> lstm_and_gru() {
  return {run_of("lstm", 1, {3, 2, 4}), run_of("lstm", 2, {3, 2.5}), run_of("gru", 1, {2, 1.5, 1.6})};
}

TEST(Rank, SortsByTheMetricOfTheTaskInTheBestEpoch) {
  const Ranking ranking = rank(lstm_and_gru());
  EXPECT_EQ(ranking.metric, "valid_rmse");
  EXPECT_THAT(ranking.settings, ElementsAre("model.cell"));
  ASSERT_THAT(ranking.ranks, SizeIs(2));
  EXPECT_EQ(ranking.ranks[0].settings.at("model.cell"), "gru");
  EXPECT_EQ(ranking.ranks[0].mean, 1.5);
  EXPECT_EQ(ranking.ranks[0].best_epoch, 2.0);
  EXPECT_EQ(ranking.ranks[0].train_seconds, 4.0);
}

TEST(Rank, GivesMeanAndSpreadOverSeeds) {
  const RankedRuns lstm = rank(lstm_and_gru()).ranks.at(1);
  EXPECT_THAT(lstm.seeds, ElementsAre(1, 2));
  EXPECT_EQ(lstm.mean, 2.25);
  EXPECT_NEAR(lstm.standard_deviation.value(), 0.5 / std::sqrt(2.0), 1e-12);
  EXPECT_EQ(lstm.best, 2.0);
  EXPECT_EQ(rank(lstm_and_gru()).ranks.at(0).standard_deviation, std::nullopt) << "of a single run";
}

TEST(Rank, IsATable) { expect_golden(ranking_text(rank(lstm_and_gru()))); }

// A version that does not know a setting yet means its neutral value.
TEST(Rank, PoolsRunsOfAnOlderVersion) {
  RunRecord older = run_of("gru", 1, {1.5}), newer = run_of("gru", 2, {1.5});
  newer.config["data.num_test"] = "0";
  newer.config["data.test_file"] = "\"\"";
  EXPECT_EQ(rank({older, newer}).ranks.size(), 1u);
  newer.config["data.num_test"] = "5";
  EXPECT_EQ(rank({older, newer}).ranks.size(), 2u);
}

// The setting that tells the rows apart is shown, also behind others.
TEST(Rank, ShowsTheSettingsThatTellRowsApart) {
  std::vector<RunRecord> runs;
  for (const char* cell : {"gru", "lstm", "rnn_tanh"}) {
    runs.push_back(run_of(cell, 1, {1.5}));
    for (int i = 0; i < 8; ++i)
      runs.back().config[fmt::format("data.a{}", i)] = std::string(cell) == "gru" ? "0.1" : "0.2";
  }
  EXPECT_THAT(ranking_text(rank(runs)), HasSubstr("#  run        cell      a0   a1"));
}

TEST(Rank, IsCsvWithAllDigits) { expect_golden(ranking_csv(rank({run_of("gru", 3, {1.0 / 3})}))); }

TEST(Rank, IsJson) {
  const auto json = nlohmann::json::parse(ranking_json(rank(lstm_and_gru())));
  EXPECT_EQ(json["metric"], "valid_rmse");
  EXPECT_EQ(json["ranks"][0]["settings"]["model.cell"], "gru");
  EXPECT_TRUE(json["ranks"][0]["standard_deviation"].is_null());
}

TEST(Rank, SortsByTheMetricThatIsNamed) {
  const Ranking ranking = rank(lstm_and_gru(), "valid_loss");
  EXPECT_EQ(ranking.ranks.at(0).mean, 2.25);
  testing::expect_error(ExitCode::kUsage, [] { rank(lstm_and_gru(), "valid_rsme"); });
}

TEST(Rank, TakesTheBestEpochByTheMetricOfEarlyStopping) {
  RunRecord run = run_of("lstm", 1, {2, 1.9, 1.85});
  run.config["training.early_stopping"] = "valid_rmse";
  run.config["training.min_delta"] = "0.2";
  EXPECT_EQ(value_at_best(run, "valid_rmse"), 2.0) << "no epoch is better by more than 0.2";
}

TEST(Rank, LeavesOutAnEpochThatWasCutShort) {
  RunRecord run = run_of("lstm", 1, {3, 2, 1});
  run.summary.epochs = 2;
  EXPECT_EQ(value_at_best(run, "valid_rmse"), 2.0);
}

// Runs of other tasks, machines and data are ranked side by side; those without the metric are last.
TEST(Rank, RefusesNothing) {
  RunRecord classifier = run_of("lstm", 1, {1});
  classifier.summary.name = "digits";
  classifier.summary.identity.data_fingerprint = "other";
  classifier.summary.ending = RunEnding::kDiverged;
  classifier.rows[0].metrics.erase("valid_rmse");
  classifier.rows[0].metrics["valid_accuracy"] = 0.9;
  RunRecord on_gpu = run_of("lstm", 1, {1});
  on_gpu.summary.device = "cuda:0";
  const Ranking ranking = rank({run_of("gru", 1, {2}), classifier, on_gpu});
  ASSERT_THAT(ranking.ranks, SizeIs(3));
  EXPECT_EQ(ranking.ranks[0].device, "cuda:0");
  EXPECT_EQ(ranking.ranks[2].name, "digits");
  EXPECT_EQ(ranking.ranks[2].mean, std::nullopt);
  expect_golden(ranking.notes);
  EXPECT_THAT(ranking_text(ranking), HasSubstr("\n-  digits  cpu fused (diverged)"));
  EXPECT_THAT(ranking_csv(ranking), HasSubstr("\n,digits,cpu,fused,"));
}

TEST(Rank, PutsNanLast) {
  const Ranking ranking =
      rank({run_of("lstm", 1, {std::numeric_limits<double>::quiet_NaN()}), run_of("gru", 1, {5})}, "valid_rmse");
  EXPECT_EQ(ranking.ranks[0].settings.at("model.cell"), "gru");
}

// A setting that tells no more rows apart is left out first.
TEST(Rank, FitsTheTerminal) {
  std::vector<RunRecord> runs = lstm_and_gru();
  for (RunRecord& run : runs) run.config["training.optimizer"] = run.config["model.cell"] == "gru" ? "sgd" : "adam";
  EXPECT_THAT(ranking_text(rank(runs)), HasSubstr("#  run        cell  optimizer  seeds  valid RMSE  spread"));
  expect_golden(ranking_text(rank(runs), 60));
  EXPECT_THAT(ranking_text(rank(runs), 40), StartsWith("#  run        cell  valid RMSE  spread\n"));
}

TEST(Rank, CountsACopyOnce) {
  RunRecord copy = run_of("gru", 1, {2});
  copy.folder = "copy";
  const Ranking ranking = rank({run_of("gru", 1, {2}), copy});
  ASSERT_THAT(ranking.ranks, SizeIs(1));
  EXPECT_THAT(ranking.ranks[0].folders, ElementsAre("runs/levels/gru1"));
  expect_golden(ranking.notes);
}

TEST(Rank, ShowsWhatAPredictionWithoutAModelReaches) {
  RunRecord run = run_of("gru", 1, {2});
  run.summary.baselines = {{"last value", {{"valid_rmse", 2.25}}}};
  EXPECT_THAT(ranking_text(rank({run})), HasSubstr("last value: valid RMSE 2.25\n"));
}

TEST(Rank, TellsNoFoldersOfTheData) { EXPECT_THAT(ranking_text(rank(lstm_and_gru())), Not(HasSubstr("/home"))); }

TEST(Rank, NeedsRuns) {
  testing::expect_error(ExitCode::kUsage, [] { rank({}); });
  testing::expect_error(ExitCode::kUsage, [] { rank({run_of("gru", 1, {})}); });
}

}  // namespace
}  // namespace rnnlab
