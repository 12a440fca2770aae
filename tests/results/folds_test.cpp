// SPDX-License-Identifier: Apache-2.0
// What a ranking and a comparison make of the runs of a back-test.
#include "results/folds.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "golden.h"
#include "results/compared_runs.h"
#include "results/comparison_output.h"
#include "results/ranking.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Returns a run of a fold whose only epoch had this error; the last value of the series had ten times the fold.
RunRecord run_of(const std::string& cell, int64_t fold, int64_t seed, double rmse) {
  RunRecord run;
  run.folder = fmt::format("runs/sales/{}-{}-{}", cell, fold, seed);
  run.config = {{"name", "sales"},
                {"seed", std::to_string(seed)},
                {"model.cell", cell},
                {"data.folds", "3"},
                {"data.fold", std::to_string(fold)}};
  run.summary.name = "sales";
  run.summary.device = "cpu";
  run.summary.layer = "fused";
  run.summary.seed = seed;
  run.summary.epochs = 1;
  run.summary.turn.process = run.folder;
  run.summary.identity.data_fingerprint = fmt::format("data of fold {}", fold);
  run.summary.baselines = {{"last value", {{"valid_rmse", 10.0 * static_cast<double>(fold)}}},
                           {"mean of the training part", {{"valid_rmse", 50}}}};
  EpochRow& row = run.rows.emplace_back();
  row.epoch = 1;
  row.train_seconds = 2;
  row.metrics["valid_rmse"] = rmse;
  row.valid_loss = rmse;
  return run;
}

// Of lstm the folds have the means 2, 4 and 9.
std::vector<RunRecord> back_test() {
  return {run_of("lstm", 1, 1, 1), run_of("lstm", 1, 2, 3), run_of("lstm", 2, 1, 3),
          run_of("lstm", 2, 2, 5), run_of("lstm", 3, 1, 8), run_of("lstm", 3, 2, 10),
          run_of("gru", 1, 1, 2),  run_of("gru", 2, 1, 3),  run_of("gru", 3, 1, 4)};
}

std::vector<RunRecord> without(std::vector<RunRecord> runs, size_t number) {
  runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(number));
  return runs;
}

TEST(RankFolds, GivesTheMeanOverTheFoldsOfEachSetting) {
  const Ranking ranking = rank(back_test());
  EXPECT_THAT(ranking.settings, ElementsAre("model.cell"));
  EXPECT_THAT(ranking.notes, IsEmpty());
  ASSERT_THAT(ranking.ranks, SizeIs(2));
  EXPECT_EQ(ranking.ranks[0].settings.at("model.cell"), "gru");
  EXPECT_EQ(ranking.ranks[0].mean, 3.0);
  EXPECT_EQ(ranking.ranks[0].standard_deviation, 1.0);
  EXPECT_EQ(ranking.ranks[0].seed_deviation, std::nullopt);
  const RankedRuns& lstm = ranking.ranks[1];
  EXPECT_EQ(lstm.mean, 5.0);
  EXPECT_NEAR(lstm.standard_deviation.value(), std::sqrt(13.0), 1e-12) << "of 2, 4 and 9";
  EXPECT_NEAR(lstm.seed_deviation.value(), std::sqrt(2.0), 1e-12) << "of 4 and 6";
  EXPECT_EQ(lstm.num_folds, 3);
  EXPECT_EQ(lstm.folds[2].fold, 3);
  EXPECT_EQ(lstm.folds[2].mean, 9.0);
  EXPECT_THAT(lstm.folds[2].seeds, ElementsAre(1, 2));
}

// A fold with more runs has no more weight than the others.
TEST(RankFolds, CountsEachFoldOnce) {
  const RankedRuns lstm = rank(without(back_test(), 1)).ranks.at(1);
  EXPECT_EQ(lstm.mean, (1.0 + 4 + 9) / 3);
  EXPECT_EQ(lstm.seed_deviation, std::nullopt) << "only one seed has all folds";
}

TEST(RankFolds, GivesTheMeanOfEachBaseline) {
  const Ranking ranking = rank(back_test());
  ASSERT_THAT(ranking.baselines, SizeIs(2));
  EXPECT_EQ(ranking.baselines[0].metrics.at("valid_rmse"), 20.0);
  EXPECT_EQ(ranking.baselines[1].metrics.at("valid_rmse"), 50.0);
  EXPECT_EQ(ranking.ranks[0].baselines[0].name, "last value");
}

// The gru would be the best by the mean of its two folds.
TEST(RankFolds, GivesNoRankToASettingThatLacksAFold) {
  const Ranking ranking = rank(without(back_test(), 8));
  EXPECT_EQ(ranking.ranks[0].settings.at("model.cell"), "lstm");
  EXPECT_EQ(ranking.ranks[1].mean, 2.5);
  EXPECT_THAT(ranking.ranks[1].missing_folds, ElementsAre(3));
  EXPECT_THAT(ranking.notes, SizeIs(1));
  expect_golden(ranking_text(ranking));
}

TEST(RankFolds, SaysThatNoSettingHasAllFolds) {
  std::vector<RunRecord> runs = back_test();
  std::erase_if(runs, [](const RunRecord& run) { return fold_of(run) == 3; });
  const Ranking ranking = rank(runs);
  EXPECT_THAT(ranking.ranks[0].missing_folds, IsEmpty());
  expect_golden(ranking.notes);
}

TEST(RankFolds, SaysThatTheFoldsAreOfOtherData) {
  std::vector<RunRecord> runs = back_test();
  runs[8].summary.identity.data_fingerprint = "other";
  expect_golden(rank(runs).notes);
  runs = back_test();
  runs[8].config.erase("data.fold");
  runs[8].config.erase("data.folds");
  EXPECT_THAT(rank(runs).ranks, SizeIs(3));
  expect_golden(rank(runs).notes);
}

TEST(RankFolds, HasNoMeanWithADivergedRun) {
  std::vector<RunRecord> runs = back_test();
  runs[8].rows[0].metrics["valid_rmse"] = std::numeric_limits<double>::quiet_NaN();
  const RankedRuns& gru = rank(runs).ranks.at(1);
  EXPECT_EQ(gru.mean, std::nullopt);
}

TEST(RankFolds, AreATable) { expect_golden(ranking_text(rank(back_test()))); }
TEST(RankFolds, AreCsv) { expect_golden(ranking_csv(rank(back_test()))); }

TEST(RankFolds, AreJson) {
  const auto json = nlohmann::json::parse(ranking_json(rank(back_test())));
  EXPECT_EQ(json["ranks"][0]["folds"][1].dump(), R"({"fold":2,"mean":3.0,"seeds":[1]})");
  EXPECT_EQ(json["ranks"][0]["num_folds"], 3);
  EXPECT_EQ(json["ranks"][0]["baselines"][0]["name"], "last value");
}

TEST(RankFolds, LeaveOutRunsOfNoBackTest) {
  std::vector<RunRecord> runs = back_test();
  EXPECT_EQ(rank_folds(runs)->ranks.size(), 2u);
  for (RunRecord& run : runs) run.config.erase("data.fold");
  EXPECT_EQ(rank_folds(runs), std::nullopt);
}

// ---- comparison ----

class CompareFolds : public testing::ComparedRuns {
 protected:
  // Two processes of each fold trained on its data.
  void add_folds() {
    for (const int64_t fold : {1, 2})
      for (const int64_t process : {1, 2}) {
        testing::SampleRun run = testing::sample_run("cpu", "fused", 1, testing::kFast);
        run.config += fmt::format("data:\n  folds: 2\n  fold: {}\n", fold);
        run.summary.identity.data_fingerprint = fmt::format("data of fold {}", fold);
        run.summary.turn.process = fmt::format("{}-{}", fold, process);
        run.environment.start_time = fmt::format("2026-11-30T10:0{}:0{}Z", fold, process);
        add(fmt::format("fold{}-{}", fold, process), run);
      }
  }
};

TEST_F(CompareFolds, HaveNoRatioOfTimes) {
  add_folds();
  const Comparison comparison = compared();
  ASSERT_THAT(comparison.groups, SizeIs(2)) << "the repeats of a fold are one group";
  EXPECT_EQ(comparison.groups[0].fold, 1);
  EXPECT_EQ(comparison.groups[1].fold, 2);
  EXPECT_THAT(comparison.groups[1].folders, SizeIs(2));
  EXPECT_EQ(comparison.groups[1].ratio, std::nullopt);
  EXPECT_TRUE(comparison.groups[1].is_other_work);
  EXPECT_THAT(comparison.other_work, SizeIs(1));
  expect_golden(answer_sentence(comparison));
}

TEST_F(CompareFolds, AreInCsvAndJson) {
  add_folds();
  const Comparison comparison = compared();
  EXPECT_THAT(comparison_csv(comparison), HasSubstr(",fold\n"));
  const auto json = nlohmann::json::parse(comparison_json(comparison, {.over_folds = rank_folds(runs_)}));
  EXPECT_EQ(json["groups"][1]["fold"], 2);
  EXPECT_EQ(json["over_folds"]["ranks"][0]["num_folds"], 2);
}

}  // namespace
}  // namespace rnnlab
