// SPDX-License-Identifier: Apache-2.0
// Says how good a run is: which metric of its log counts, which epoch was the best, and what a prediction without a
// model reaches. Metrics have their names in epochs.csv.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "results/epoch_row.h"
#include "results/metrics.h"

namespace rnnlab {

// Returns the values of a row's metrics.
MetricValues metrics_in_row(const EpochRow& row);

// Returns the value of one metric; nothing if the row or the version lacks it.
std::optional<double> metric_in(const EpochRow& row, std::string_view metric);

// Returns whether a larger value of the metric is better: not of a metric that the list does not have.
bool is_larger_better(std::string_view metric);

bool is_better(std::string_view metric, double value, double other);

// Returns whether no value is better.
bool is_perfect(std::string_view metric, double value);

// Returns the metric by which a task is usually judged, of those that are there: valid_rmse, valid_perplexity,
// valid_accuracy or valid_loss, else the same of training; "" without metrics.
std::string own_metric(const MetricValues& metrics);

// Returns the metric's name in tables: "valid RMSE" for valid_rmse.
std::string heading_of(const std::string& metric);

// Returns the name of a metric of validation on another part: "test RMSE"; "RMSE" if `part` is "".
std::string heading_on(const std::string& metric, std::string_view part);

// The metrics on the validation part of a prediction that needs no model, such as the last value of a series. Its
// numbers come from the training part alone, and from what a series had been before.
struct Baseline {
  std::string name;
  MetricValues metrics;

  RNNLAB_FIELDS(name, metrics)
};

// Returns "last value: valid RMSE 2.255, valid MAE 1.727, valid loss 0.3123", with the task's own metric first.
std::string baseline_text(const Baseline& baseline);

// Does the same for a part whose metrics have the names of validation.
std::string baseline_text(const Baseline& baseline, std::string_view part);

// Appends the baseline unless the list has one with the same text.
void add_once(std::vector<Baseline>& baselines, const Baseline& baseline);

// Returns the baseline with the best value of the metric; null if none has it.
const Baseline* best_baseline(const std::vector<Baseline>& baselines, const std::string& metric);

// Who predicts a part better by the task's own metric: the model, or the best prediction without a model.
struct Winner {
  std::string metric;  // "valid_rmse"
  double of_model = 0;
  const Baseline* baseline = nullptr;  // the best of the baselines
  double of_baseline = 0;

  bool is_model() const { return is_better(metric, of_model, of_baseline); }
  bool is_tie() const { return of_model == of_baseline; }
};

// `model` has the model's metrics by the names of validation. Returns nothing if no baseline has the metric.
std::optional<Winner> winner_of(const MetricValues& model, const std::vector<Baseline>& baselines);

// Returns "the model wins: RMSE 0.3993, against 1.164 for last value, the best prediction without a model"; if there is
// no baseline "RMSE 0.3993", and "" without metrics. `part` is as in heading_on.
std::string winner_text(const MetricValues& model, const std::vector<Baseline>& baselines, std::string_view part);

// Returns a warning if the task's own metric of `best`, the run's best epoch, is not better than that of each baseline.
std::optional<std::string> baseline_warning(const std::vector<Baseline>& baselines, const MetricValues& best);

// The values of training.stop_at, and when a run reached them.
struct TargetRecord {
  MetricValues stop_at;
  std::optional<int64_t> epoch;         // the first that reached them; nothing if none did
  std::optional<double> train_seconds;  // training of all epochs up to it, warm-up included, validation excluded

  RNNLAB_FIELDS(stop_at, epoch, train_seconds)
};

// Returns whether the row reaches all values; false if it lacks one of the metrics, or if there are no values.
bool reaches(const EpochRow& row, const MetricValues& stop_at);

// Returns nothing without values.
std::optional<TargetRecord> target_record(const MetricValues& stop_at, std::span<const EpochRow> rows);

// Returns "valid_accuracy 0.98", with several values joined by "and".
std::string target_text(const MetricValues& stop_at);

// ---- the best epoch ----

// Returns the epochs that were not cut short by the end of the run.
std::span<const EpochRow> whole_epochs(std::span<const EpochRow> rows, int64_t num_whole);

// Returns the value by which training chooses the best epoch. Without a metric ("") it is the validation loss, else the
// training loss. Nothing if the row lacks the metric.
std::optional<double> watched_value(const EpochRow& row, std::string_view metric);

// Returns whether the value is better by more than `min_delta`.
bool improves(std::string_view metric, double value, double best, double min_delta);

// Returns the epoch that training calls the best; null if no epoch has the metric.
const EpochRow* best_epoch(std::span<const EpochRow> rows, const std::string& metric, double min_delta = 0);

}  // namespace rnnlab
