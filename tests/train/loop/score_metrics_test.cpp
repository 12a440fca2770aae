// SPDX-License-Identifier: Apache-2.0
#include "train/loop/score_metrics.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "golden.h"
#include "results/quality.h"
#include "train/loop/toy.h"
#include "train/ranks/fake_ranks.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

PartScores last_scores;  // whose spans are those of the last call
std::vector<double> last_outputs, last_targets;

MetricResult remember(const PartScores& part) {
  last_scores = part;
  last_outputs.assign(part.outputs.begin(), part.outputs.end());
  last_targets.assign(part.targets.begin(), part.targets.end());
  return {static_cast<double>(part.num_rows())};
}

MetricInfo remembering(MetricTask task) { return {"rows", "rows", "rows", {}, {}, {task}, remember}; }

std::vector<std::string> names_of(const TrainingSettings& settings) {
  std::vector<std::string> names;
  for (const MetricInfo* metric : asked_metrics(settings)) names.emplace_back(metric->name);
  return names;
}

TEST(AskedMetrics, AreThoseOfTheListAndThoseThatStopARun) {
  TrainingSettings settings;
  EXPECT_TRUE(names_of(settings).empty());
  settings.metrics = {"smape"};
  settings.early_stopping = "valid_macro_f1";
  settings.stop_at.values = {{"valid_r2", 0.9}, {"valid_rmse", 1}};
  EXPECT_THAT(names_of(settings), ElementsAre("macro_f1", "r2", "smape"));
  EXPECT_THAT(asked_columns(settings), ElementsAre("valid_macro_f1", "valid_r2", "valid_smape"));
}

struct Forecast {
  MetricInfo metric = remembering(MetricTask::kNumbers);
  FittedData data = {};
  Samples part = {};

  Forecast() {
    data.shape.task = Task::kRegression;
    data.shape.num_outputs = 2;
    data.target_scales = {{"small", 0, 2}, {"large", 100, 10}};
    part.inputs = at::zeros({5, 1, 1});
    part.targets = at::arange(10, at::kFloat).view({5, 2});
  }

  ScoreMetrics metrics(std::vector<double> naive_errors = {}) const {
    return {{&metric}, Loss(with_loss(LossKind::kMse), data, at::kCPU), data, part, std::move(naive_errors)};
  }
};

TEST(ScoreMetrics, HaveOutputsAndTargetsInTheUnitsOfTheTargets) {
  const Forecast forecast;
  ScoreMetrics metrics = forecast.metrics({0.5, 2});
  metrics.add(at::zeros({3, 2}), {});
  metrics.add(at::full({2, 2}, 1.0F), {});
  EXPECT_EQ(metrics.results(3).at("rows").value, 5);
  EXPECT_THAT(last_outputs, ElementsAre(0, 100, 0, 100, 0, 100, 2, 110, 2, 110));
  EXPECT_THAT(last_targets, ElementsAre(0, 110, 4, 130, 8, 150, 12, 170, 16, 190));
  EXPECT_TRUE(last_scores.classes.empty());
  EXPECT_THAT(last_scores.naive_errors, ElementsAre(0.5, 2));
}

TEST(ScoreMetrics, BeginAgain) {
  const Forecast forecast;
  ScoreMetrics metrics = forecast.metrics();
  metrics.add(at::zeros({5, 2}), {});
  metrics.clear();
  metrics.add(at::zeros({5, 2}), {});
  EXPECT_EQ(metrics.results(5).at("rows").value, 5);
}

TEST(ScoreMetrics, HaveNoValueOfOutputsThatAreNotFinite) {
  const Forecast forecast;
  ScoreMetrics metrics = forecast.metrics();
  metrics.add(at::full({5, 2}, std::numeric_limits<float>::infinity()), {});
  EXPECT_THAT(metrics.results(5).at("rows").reason, HasSubstr("not finite"));
}

TEST(ScoreMetrics, HaveNoValueOfAnotherTask) {
  Forecast forecast;
  forecast.metric.tasks = {MetricTask::kClasses};
  ScoreMetrics metrics = forecast.metrics();
  metrics.add(at::zeros({5, 2}), {});
  expect_golden(metrics.results(5).at("rows").reason);
}

// A rank is called alone. It remembers what it sends, and gets what the ranks before it have sent.
class RankInTurn : public FakeRanks {
 public:
  RankInTurn(int64_t rank, int64_t size, std::vector<at::Tensor>& sent) : FakeRanks(rank, size), sent_(sent) {}
  void all_gather_into(const at::Tensor& values, const at::Tensor& all) override {
    if (std::ssize(sent_) < size()) sent_.push_back(values);
    std::vector<at::Tensor> of_ranks = sent_;
    of_ranks.resize(static_cast<size_t>(size()), at::zeros_like(values));
    all.copy_(at::stack(of_ranks));
  }

 private:
  std::vector<at::Tensor>& sent_;
};

// Five samples in batches of two: the first rank has the batches 0 and 2, the second the batch 1, and the fourth none.
TEST(ScoreMetrics, AreThoseOfOneProcessForAnyNumberOfRanks) {
  const Forecast forecast;
  const at::Tensor outputs = at::randn({5, 2});
  ScoreMetrics alone = forecast.metrics();
  alone.add(outputs, {});
  alone.results(2);
  const std::vector<double> expected = last_outputs;
  for (const int64_t size : {2, 3, 4}) {
    std::vector<at::Tensor> sent;
    std::vector<ScoreMetrics> of_ranks;
    for (int64_t rank = 0; rank < size; ++rank) {
      of_ranks.push_back(forecast.metrics());
      for (int64_t batch = rank; batch < 3; batch += size)
        of_ranks.back().add(outputs.slice(0, 2 * batch, std::min<int64_t>(2 * batch + 2, 5)), {});
      RankInTurn ranks(rank, size, sent);
      of_ranks.back().results(2, ranks);
    }
    for (int64_t rank = 0; rank < size; ++rank) {
      RankInTurn ranks(rank, size, sent);
      of_ranks[static_cast<size_t>(rank)].results(2, ranks);
      EXPECT_EQ(last_outputs, expected) << "rank " << rank << " of " << size;
    }
  }
}

TEST(ScoreMetrics, HaveTheStepsOfEachSampleOneBelowTheOther) {
  const MetricInfo metric = remembering(MetricTask::kClasses);
  FittedData data;
  data.shape = {.task = Task::kClassification, .num_outputs = 1, .has_lengths = true, .target_per_step = true};
  Samples part;
  part.inputs = at::zeros({2, 3, 1});
  part.targets = at::tensor({1, 2, -1, 4, 5, 6}, at::kLong).view({2, 3});
  part.lengths = at::tensor({3, 2}, at::kLong);
  const Batch batch{.inputs = {}, .targets = {}, .lengths = part.lengths, .size = 2};
  ScoreMetrics metrics({&metric}, Loss(with_loss(LossKind::kAuto), data, at::kCPU), data, part, {});
  metrics.add(at::tensor({1.F, 4.F, 2.F, 5.F, 3.F, 6.F}).view({3, 2, 1}), batch);
  EXPECT_EQ(metrics.results(2).at("rows").value, 5);
  EXPECT_THAT(last_outputs, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(last_scores.classes.size(), 5u);
}

EpochRow last_row(const Dataset& dataset, const TrainingSettings& settings) {
  TrainerOptions options = toy_options();
  options.settings = settings;
  return run_toy(dataset, options).seen.rows.back();
}

TEST(Trainer, HasTheMetricsThatItIsAskedFor) {
  TrainingSettings settings = toy_options().settings;
  const EpochRow without = last_row(toy_dataset(), settings);
  EXPECT_THAT(without.metrics, UnorderedElementsAre(Key("train_accuracy"), Key("valid_accuracy")));
  settings.metrics = {"balanced_accuracy", "roc_auc", "r2"};
  settings.valid_batch_size = 10;
  const EpochRow with = last_row(toy_dataset(), settings);
  EXPECT_EQ(with.train_loss, without.train_loss);
  EXPECT_EQ(with.metrics.at("valid_accuracy"), without.metrics.at("valid_accuracy"));
  EXPECT_GT(with.metrics.at("valid_roc_auc"), 0.5);
  EXPECT_GT(with.metrics.at("valid_balanced_accuracy"), 0);
  EXPECT_THAT(with.undefined, ElementsAre(Pair("valid_r2", HasSubstr("defined for numbers"))));
}

TEST(Trainer, LeavesAMetricOutThatThePartDoesNotDefine) {
  TrainingSettings settings = toy_options().settings;
  settings.metrics = {"roc_auc"};
  Dataset dataset = toy_dataset();
  dataset.valid.targets.fill_(1);
  const EpochRow row = last_row(dataset, settings);
  EXPECT_FALSE(row.metrics.contains("valid_roc_auc"));
  EXPECT_THAT(row.undefined, ElementsAre(Pair("valid_roc_auc", HasSubstr("class 0"))));
}

TEST(Trainer, StopsAndChoosesTheBestEpochByEveryMetricOfScores) {
  for (const MetricInfo* metric : score_metrics()) {
    const bool are_numbers = metric->suits(MetricTask::kNumbers);
    Dataset dataset = toy_dataset(96, 32, are_numbers ? Task::kRegression : Task::kClassification);
    dataset.naive_errors = {0.5};
    TrainerOptions options = toy_options();
    options.settings.epochs = 6;
    if (metric->needs == MetricNeeds::kDistribution) options.settings.loss = LossKind::kGaussian;
    dataset.shape.numbers_per_target = numbers_per_target(options.settings);
    options.settings.early_stopping = "valid_" + std::string(metric->name);
    const ToyRun run = run_toy(dataset, options);
    EXPECT_EQ(run.state.best_epoch, best_epoch(run.seen.rows, *options.settings.early_stopping)->epoch);
    EXPECT_EQ(run.state.best_value, metric_in(run.seen.rows[static_cast<size_t>(run.state.best_epoch) - 1],
                                              *options.settings.early_stopping));
    options.settings.early_stopping.reset();
    options.settings.stop_at.values = {{"valid_" + std::string(metric->name), metric->range.least}};
    const int64_t last = metric->range.better == Better::kLarger ? 1 : 6;  // an error does not become 0
    EXPECT_EQ(run_toy(dataset, options).state.epoch, last) << metric->name;
  }
}

}  // namespace
}  // namespace rnnlab
