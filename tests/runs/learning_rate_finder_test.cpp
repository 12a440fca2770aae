// SPDX-License-Identifier: Apache-2.0
#include "runs/learning_rate_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/numbers.h"
#include "golden.h"
#include "runs/run_context.h"
#include "runs/sweep.h"
#include "runs/tiny_experiment.h"

namespace rnnlab {
namespace {

using testing::cases_of;
using ::testing::HasSubstr;
using testing::kTinyYaml;
using testing::tiny_experiment;

// Returns the curve of these losses as a search records it.
template <class LossAt>
RateCurve curve_of(const LossAt& loss_at) {
  RateCurve curve;
  for (const double rate : rates_to_try()) {
    curve.add(rate, loss_at(rate));
    if (curve.has_diverged()) break;
  }
  return curve;
}

// Falls from 2 to 1 around the rate 1e-3, and rises from 0.1 on.
double typical_loss(double rate) { return 1 + 1 / (1 + rate / 1e-3) + std::pow(rate / 0.3, 2); }

TEST(RatesToTry, RiseByOneRatio) {
  const auto rates = rates_to_try();
  ASSERT_EQ(rates.size(), 99u);
  EXPECT_DOUBLE_EQ(rates.front(), kLowestRate);
  EXPECT_NEAR(rates.back(), kHighestRate, 1e-12);
  EXPECT_NEAR(rates[14] / rates[0], 10.0, 1e-12);
  EXPECT_NEAR(rates[57] / rates[56], rates[1] / rates[0], 1e-12);
}

TEST(RateCurve, SmoothsWithoutABiasTowardsZero) {
  RateCurve curve;
  curve.add(1e-6, 4.0);
  EXPECT_DOUBLE_EQ(curve.points()[0].smoothed_loss, 4.0);
  curve.add(1e-5, 2.0);
  EXPECT_DOUBLE_EQ(curve.points()[1].smoothed_loss, (0.09 * 4.0 + 0.1 * 2.0) / 0.19);
}

TEST(RateCurve, HasDivergedAboveFourTimesItsLowestLossAndAtNaN) {
  RateCurve curve;
  EXPECT_FALSE(curve.has_diverged());
  curve.add(0.1, 1.0);
  curve.add(0.2, 5.0);
  EXPECT_FALSE(curve.has_diverged()) << "the smoothed loss is about 3.1";
  curve.add(0.4, 20.0);
  EXPECT_TRUE(curve.has_diverged());
  RateCurve of_nan;
  of_nan.add(0.1, 1.0);
  of_nan.add(0.2, std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(of_nan.has_diverged());
  EXPECT_EQ(of_nan.lowest(), 0u);
}

TEST(SuggestRate, IsATenthOfTheRateWithTheLowestLoss) {
  const RateCurve curve = curve_of(typical_loss);
  EXPECT_TRUE(curve.has_diverged());
  const RateSuggestion suggestion = suggest_rate(curve);
  ASSERT_TRUE(suggestion.learning_rate);
  EXPECT_GT(*suggestion.learning_rate, 0.002);
  EXPECT_LT(*suggestion.learning_rate, 0.03);
  EXPECT_THAT(suggestion.reason, HasSubstr("a tenth of 0."));
}

TEST(SuggestRate, StaysTheSameWithNoise) {
  uint32_t state = 1;
  const auto noise = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<double>(state >> 8) / static_cast<double>(1 << 24) - 0.5;
  };
  const double clean = suggest_rate(curve_of(typical_loss)).learning_rate.value();
  const RateSuggestion noisy = suggest_rate(curve_of([&](double rate) { return typical_loss(rate) + 0.2 * noise(); }));
  ASSERT_TRUE(noisy.learning_rate) << noisy.reason;
  EXPECT_LT(*noisy.learning_rate, 3 * clean);
  EXPECT_GT(*noisy.learning_rate, clean / 3);
}

TEST(SuggestRate, SaysThatTheLossWasStillFalling) {
  const RateSuggestion suggestion = suggest_rate(curve_of([](double rate) { return 1 / (1 + rate); }));
  EXPECT_DOUBLE_EQ(suggestion.learning_rate.value(), 1.0);
  expect_golden(suggestion.reason);
}

TEST(SuggestRate, SuggestsNothingIfTheLossDoesNotFall) {
  EXPECT_FALSE(suggest_rate(curve_of([](double) { return 1.0; })).learning_rate);
  EXPECT_FALSE(suggest_rate(curve_of([](double rate) { return 1 + rate; })).learning_rate);
  int step = 0;
  const auto varies = [&](double) { return ++step % 2 == 0 ? 1.0 : 2.0; };
  EXPECT_THAT(suggest_rate(curve_of(varies)).reason, HasSubstr("from batch to batch"));
}

TEST(SuggestRate, TakesNoAccidentOfTheFirstBatchesForTheLowestLoss) {
  int step = 0;
  const auto begins_low = [&](double rate) { return ++step == 1 ? 0.5 : typical_loss(rate); };
  const double rate = suggest_rate(curve_of(begins_low)).learning_rate.value_or(0);
  EXPECT_DOUBLE_EQ(rate, suggest_rate(curve_of(typical_loss)).learning_rate.value());
}

TEST(SuggestRate, SuggestsNothingIfTheLowestRatesDiverge) {
  const RateCurve curve = curve_of([](double rate) { return 1 + std::pow(rate / 2e-6, 4); });
  EXPECT_TRUE(curve.has_diverged());
  EXPECT_THAT(suggest_rate(curve).reason, HasSubstr("training diverges"));
}

// Returns an experiment whose loss falls within an epoch.
Experiment small_experiment(const std::vector<std::string>& overrides) {
  return tiny_experiment(testing::with({"data.num_train=2000", "data.num_valid=0", "training.batch_size=64",
                                        "model.hidden_size=32", "training.num_threads=1"},
                                       overrides));
}

RateSearch quiet_search(const std::vector<std::string>& overrides = {}) {
  Logger logger(Verbosity::kErrors, Terminal{});
  return find_learning_rate(small_experiment(overrides), {}, logger);
}

double final_loss(std::vector<std::string> overrides, double learning_rate) {
  overrides.push_back("training.learning_rate=" + format_shortest(learning_rate));
  RunContext run(small_experiment(overrides), {});
  struct LastLoss : Observer {
    void on_epoch_end(const TrainingState&, const EpochRow& row) override { loss = row.train_loss; }
    double loss = 0;
  } last;
  run.trainer->add_observer(last);
  run.trainer->run();
  return last.loss;
}

class RateSearchTrains : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(RateSearchTrains, BetterThanAHundredthOfItsSuggestion) {
  std::vector<std::string> overrides = GetParam();
  overrides.emplace_back("training.epochs=4");
  const RateSearch search = quiet_search(overrides);
  ASSERT_TRUE(search.suggestion) << search.reason;
  const double loss = final_loss(overrides, *search.suggestion);
  EXPECT_TRUE(std::isfinite(loss));
  EXPECT_LT(loss, 0.9 * final_loss(overrides, *search.suggestion / 100));
}

INSTANTIATE_TEST_SUITE_P(All, RateSearchTrains,
                         ::testing::Values(std::vector<std::string>{},
                                           std::vector<std::string>{"training.optimizer=adamw", "layer=naive",
                                                                    "training.accumulate=2", "training.batch_size=32",
                                                                    "training.schedule=cosine"}));

TEST(RateSearch, GoesThroughTheDataAgain) {
  const RateSearch search = quiet_search();
  EXPECT_EQ(search.steps.size(), rates_to_try().size()) << "an epoch has 32 steps";
  EXPECT_DOUBLE_EQ(search.steps.front().learning_rate, kLowestRate);
  EXPECT_EQ(search.batch_size, 64);
  EXPECT_EQ(search.optimizer, "adam");
}

TEST(RateSearch, TrainsWithTheShardsOfSeveralProcesses) { EXPECT_TRUE(quiet_search({"training.shards=2"}).suggestion); }

TEST(RateSearch, StopsWhenTrainingDiverges) {
  const RateSearch search = quiet_search({"model.cell=rnn_tanh", "training.optimizer=sgd", "training.momentum=0.9"});
  EXPECT_TRUE(search.diverged);
  EXPECT_LT(search.steps.size(), rates_to_try().size());
}

// If a graph kept the rate of its capture, 1e-6, the loss would never change much.
TEST(RateSearch, ChangesTheRateOfCapturedSteps) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "needs a GPU";
  const RateSearch eager = quiet_search({"device=cuda"});
  const RateSearch graphs = quiet_search({"device=cuda", "training.cuda_graph=true"});
  ASSERT_TRUE(graphs.suggestion) << graphs.reason;
  for (size_t i = 0; i < std::min<size_t>(40, graphs.steps.size()); ++i)
    EXPECT_NEAR(graphs.steps[i].loss, eager.steps[i].loss, 1e-3);
  EXPECT_LT(graphs.best_learning_rate(), 3 * eager.best_learning_rate());
  EXPECT_GT(graphs.best_learning_rate(), eager.best_learning_rate() / 3);
}

RateSearch known_search() {
  return {.name = "tiny",
          .device = "cpu",
          .layer = "fused",
          .optimizer = "adam",
          .diverged = true,
          .steps = {{1e-6, 2, 2}, {0.1, 1, 1.25}, {0.2, 0.5, 0.75}, {0.4, 6, 4}},
          .lowest = 2,
          .suggestion = 0.02,
          .reason = "a tenth of 0.2, the rate with the lowest smoothed loss"};
}

TEST(RateSearch, PrintsTheCurveAndTheLineToSet) {
  expect_golden(rate_search_text(known_search()));
  RateSearch nothing = known_search();
  nothing.suggestion.reset();
  nothing.reason = "the loss does not fall";
  EXPECT_THAT(rate_search_text(nothing), HasSubstr("\nno suggestion: "));
}

TEST(RateSearch, MarksTheLowestLossAlsoIfTwoStepsHaveOneRate) {
  RateSearch search = known_search();
  search.steps[1].learning_rate = 0.2;
  EXPECT_THAT(rate_search_text(search), HasSubstr("\n0.2           0.7500   lowest\n"));
  EXPECT_THAT(rate_search_json(search), HasSubstr("\"best_learning_rate\": 0.2,"));
}

TEST(RateSearch, OfASweepDoesTheFirstCase) {
  Logger logger(Verbosity::kErrors, Terminal{});
  const auto cases = cases_of(std::string(kTinyYaml) + "sweep: {layer: [naive, fused]}\n");
  const RateSearch search = find_learning_rate_first(cases, {}, logger);
  EXPECT_EQ(search.layer, "naive");
  EXPECT_THAT(rate_search_text(search), HasSubstr("tiny (layer=naive): "));
}

}  // namespace
}  // namespace rnnlab
