// SPDX-License-Identifier: Apache-2.0
// Ranks runs by how good they are. Runs that differ only in their seed or their fold are one row, and whatever else
// differs is a column. Nothing is refused: a table of quality compares other models, other data settings and other
// machines on purpose. Times are listed without ratio or verdict, because they may be of different machines
// (comparison.h compares times).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/system/files.h"
#include "base/system/terminal.h"
#include "results/folds.h"
#include "results/quality.h"
#include "results/run_record.h"

namespace rnnlab {

// The runs of one setting. Numbers are absent if no run has the metric, or if one of them is NaN.
struct RankedRuns {
  std::string name;                                  // of the experiment
  std::string device;                                // "cpu"
  std::string layer;                                 // "fused"
  std::map<std::string, std::string> settings = {};  // those in which the ranked runs differ, by dotted key
  std::vector<std::string> folders = {};
  std::vector<int64_t> seeds;
  std::string ended;                // as in a comparison: "complete", "1 of 3 diverged"
  std::optional<double> mean = {};  // of the metric in each run's best epoch; of a back-test over its folds
  std::optional<double> standard_deviation =
      {};                                    // over the runs, or the folds; absent if they have one seed or one fold
  std::optional<double> best = {};           // of a single run
  std::optional<double> best_epoch = {};     // the median over the runs
  std::optional<double> epoch_seconds = {};  // of training: the median over the runs of their median epoch
  std::optional<double> train_seconds = {};  // of training until the best epoch: the median over the runs

  // Of a back-test (data.folds).
  int64_t num_folds = 0;                      // 0: the runs are of none
  std::vector<FoldValue> folds = {};          // those that have the metric
  std::vector<int64_t> missing_folds = {};    // that other rows have: such a row has no rank
  std::optional<double> seed_deviation = {};  // the standard deviation over the seeds of their means over the folds
  std::vector<Baseline> baselines = {};       // their means over the folds

  RNNLAB_FIELDS(name, device, layer, settings, folders, seeds, ended, mean, standard_deviation, best, best_epoch,
                epoch_seconds, train_seconds, num_folds, folds, missing_folds, seed_deviation, baselines)
};

struct Ranking {
  int64_t schema_version = kFileVersion;
  std::string metric;                 // "valid_rmse"
  std::vector<std::string> settings;  // the keys in which the runs differ, in alphabetical order
  std::vector<RankedRuns> ranks;      // the best first; those without the metric or a fold are last
  std::vector<Baseline> baselines;    // predictions without a model that have the metric
  std::vector<std::string> notes;

  RNNLAB_FIELDS(schema_version, metric, settings, ranks, baselines, notes)
};

// Returns the value of the metric in the run's best epoch, as training chose it (best_epoch). Nothing without one.
std::optional<double> value_at_best(const RunRecord& run, const std::string& metric);

// `metric` is a metric of epochs.csv; "" is the own metric of the first run's task. Throws UserError kUsage if there
// are no runs, or if no run has the metric.
Ranking rank(const std::vector<RunRecord>& runs, const std::string& metric = "");

// Ranks only the runs of back-tests, by the usual metric of their task. Returns nothing if no such run has a whole
// epoch.
std::optional<Ranking> rank_folds(const std::vector<RunRecord>& runs);

// A table that does not fit into `width` leaves out its least important columns, and a line names them.
std::string ranking_text(const Ranking& ranking, size_t width = kAnyWidth);
std::string ranking_csv(const Ranking& ranking);
std::string ranking_json(const Ranking& ranking);

}  // namespace rnnlab
