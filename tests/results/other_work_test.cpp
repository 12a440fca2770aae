// SPDX-License-Identifier: Apache-2.0
// Tests comparisons of runs whose settings make their work differ, and what a comparison says of losses and metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "golden.h"
#include "results/comparison.h"
#include "results/sample_runs.h"

namespace rnnlab::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<double> kNaiveSeconds = {9, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5};
const std::vector<double> kFusedSeconds = {9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5};

class ComparedGroup : public ::testing::Test {
 protected:
  void add(const std::string& name, const SampleRun& run) {
    run.write(folder_.path() / name);
    runs_.push_back(load_run(folder_.path() / name));
  }

  TemporaryFolder folder_;
  std::vector<RunRecord> runs_;
};

class OtherWork : public ComparedGroup {
 protected:
  // Adds two runs, the second of which was changed by `change`.
  void add_pair(const std::function<void(SampleRun&)>& change) {
    add("a", sample_run("cpu", "naive", 1, kNaiveSeconds));
    SampleRun other = sample_run("cpu", "fused", 1, kFusedSeconds);
    change(other);
    add("b", other);
  }
  void expect_refused(const std::string& reasons) {
    expect_error(
        ExitCode::kUsage,
        "these runs did not do the same work under the same conditions:\n  " + reasons +
            "\nName fewer runs, run all of them again under equal conditions, or use --force to compare anyway",
        [&] { compare(runs_, {}); });
  }
};

// Changes the model and the training settings.
void change_work(SampleRun& run) {
  run.config += "  learning_rate: 0.1\ndeterministic: true\n";
  run.config.replace(run.config.find("hidden_size: 128"), 16, "hidden_size: 256");
}

const std::string kOtherModel =
    "model: model.hidden_size=128 in cpu naive hidden_size=128, model.hidden_size=256 in cpu fused deterministic=true "
    "hidden_size=256 learning_rate=0.1";
const std::string kOtherTraining =
    "training settings: deterministic=absent training.learning_rate=absent in cpu naive hidden_size=128, "
    "deterministic=true training.learning_rate=0.1 in cpu fused deterministic=true hidden_size=256 learning_rate=0.1";

TEST_F(OtherWork, IsRefusedWithTheRunsOfTheNewestSweepIfSweepsDiffer) {
  add_pair([](SampleRun& run) { run.summary.identity.precision = "tf32"; });
  runs_[0].summary.turn.measurement = "first";
  runs_[1].summary.turn.measurement = "second";
  runs_[1].started = "2099-01-01T00:00:00.000Z";
  expect_error(ExitCode::kUsage, [&] { compare(runs_, {}); });
}

// "LSTM or GRU?" is a question about losses and metrics, which the table answers.
TEST_F(OtherWork, IsShownWithoutARatioOfTimes) {
  add_pair(change_work);
  const Comparison comparison = compare(runs_, {});
  EXPECT_THAT(comparison.other_work, ElementsAre(kOtherModel, kOtherTraining));
  EXPECT_THAT(comparison.differences, IsEmpty());
  const GroupResult& other = comparison.groups[1];
  EXPECT_TRUE(other.is_other_work);
  EXPECT_TRUE(other.seconds.has_value());
  EXPECT_FALSE(other.ratio || other.mann_whitney_p || other.verdict || other.loss_agreement);
  EXPECT_FALSE(comparison.groups[0].is_other_work);
}

TEST_F(OtherWork, HasARatioByForce) {
  add_pair(change_work);
  const Comparison comparison = compare(runs_, {.baseline = "", .on_difference = OnDifference::kForce});
  EXPECT_THAT(comparison.forced, ElementsAre(kOtherModel, kOtherTraining));
  EXPECT_THAT(comparison.other_work, IsEmpty());
  EXPECT_TRUE(comparison.groups[1].ratio.has_value());
}

// The message has every reason at once, also the work that differs.
TEST_F(OtherWork, IsRefusedOnAnotherMachine) {
  add_pair([](SampleRun& run) {
    change_work(run);
    run.summary.identity.cpu_model = "Other CPU";
  });
  expect_refused(
      "hardware (CPU): Some CPU in cpu naive hidden_size=128, Other CPU in cpu fused deterministic=true "
      "hidden_size=256 learning_rate=0.1\n"
      "  model: model.hidden_size=128 in cpu naive hidden_size=128, model.hidden_size=256 in cpu fused "
      "deterministic=true hidden_size=256 learning_rate=0.1\n"
      "  training settings: deterministic=absent training.learning_rate=absent in cpu naive hidden_size=128, "
      "deterministic=true training.learning_rate=0.1 in cpu fused deterministic=true hidden_size=256 "
      "learning_rate=0.1");
}

TEST_F(OtherWork, IsRefusedIfNoSettingExplainsIt) {
  add_pair([](SampleRun& run) { run.summary.identity.data_fingerprint = "d2"; });
  expect_refused("data: d1 in " + folder_.name("a") + ", d2 in " + folder_.name("b"));
}

TEST_F(OtherWork, IsThatOfOtherData) {
  add_pair([](SampleRun& run) {
    run.summary.identity.data_fingerprint = "d2";
    run.config += "data:\n  horizon: 6\n";
  });
  expect_golden(compare(runs_, {}).other_work);
}

TEST_F(ComparedGroup, HasTheMetricsOfTheBestEpoch) {
  add("a", sample_run("cpu", "naive", 1, kNaiveSeconds));
  for (EpochRow& row : runs_[0].rows) row.valid_loss = row.epoch == 3 ? 0.125 : 0.25;
  const GroupResult group = compare(runs_, {}).groups[0];
  EXPECT_THAT(group.best_epochs, ElementsAre(3));
  EXPECT_EQ(group.best_metrics.at("valid_loss").median, 0.125);
  EXPECT_EQ(group.final_metrics.at("valid_loss").median, 0.25);
}

TEST_F(ComparedGroup, WarnsIfASeedCountsMoreThanAnother) {
  for (const auto& [name, seed] : {std::pair("a", 1), {"b", 2}, {"c", 2}}) {
    SampleRun run = sample_run("cpu", "naive", seed, kNaiveSeconds);
    run.summary.turn.process = name;
    add(name, run);
  }
  expect_golden(texts_of(compare(runs_, {}).warnings));
}

// The layer of an image model is its convolution.
TEST_F(ComparedGroup, DoesNotLabelTheLayerTwice) {
  for (const char* layer : {"plain", "fused_pool"}) {
    SampleRun run = sample_run("cpu", layer, 1, kNaiveSeconds);
    run.config += fmt::format("convolution: {}\n", layer);
    add(layer, run);
  }
  const Comparison comparison = compare(runs_, {});
  EXPECT_EQ(comparison.groups[0].label, "cpu plain");
  EXPECT_EQ(comparison.groups[1].label, "cpu fused_pool");
}

}  // namespace
}  // namespace rnnlab::testing
