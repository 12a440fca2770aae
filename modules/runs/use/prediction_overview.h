// SPDX-License-Identifier: Apache-2.0
// What a trained model predicts on a part of its data, as plain values for a report: the confusion matrix, forecasts
// beside their targets, and the samples with the largest errors. If each step has a target, steps take the place of
// samples, one sequence after the other (DetailedMetrics::row).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runs/use/detailed_metrics.h"
#include "runs/use/predict.h"
#include "runs/use/trained_model.h"

namespace rnnlab {

// One target over some samples, in its own units. The vectors have equal lengths, but `naive` and
// others may be empty.
struct ForecastCurve {
  std::string target;
  std::vector<double> truth;
  std::vector<double> predicted;
  std::vector<double> naive;  // of the forecast without a model
  std::vector<double> low = {},
                      high = {};        // the lowest and the highest forecast quantile; empty without a distribution
  std::vector<int64_t> samples = {};    // the number of each point's sample
  size_t output = 0;                    // of the model: its place among all horizons of all targets
  std::vector<std::string> dates = {};  // cells of data.id in the rows of a series' targets; empty without data.id
};

struct SampleError {
  std::string sample;      // "row 12 (2026-01-05)", or its number "57"; or "sample 5, step 7"
  std::string target;      // its class, or its value; of several targets the one with the largest error
  std::string prediction;  // likewise; a class has its probability
  double error = 0;        // 1 less the probability of the target's class; or the largest absolute error
};

// The errors of one target at each of several horizons, in its own units.
struct HorizonErrors {
  std::string target;
  std::vector<double> root_mean_squared_errors;
  std::vector<std::pair<std::string, std::vector<double>>> naive = {};  // of each forecast without a model, by name
};

struct PredictionOverview {
  std::string data;  // "csv from pets.csv: 80 validation samples"
  DetailedMetrics metrics;
  std::vector<ForecastCurve> forecasts;  // of four outputs, from the first to the last; empty for classes
  bool is_series = false;         // the samples of `forecasts` are consecutive; else the truth of a curve is ascending
  std::string id_name = {};       // of `dates`: the columns of data.id
  std::string naive_name;         // "last value"; "" without a naive forecast
  std::vector<double> levels;     // of the forecast quantiles; empty without a distribution
  std::vector<int64_t> horizons;  // data.horizon if there are several; else empty, like `by_horizon`
  std::vector<HorizonErrors> by_horizon;
  std::vector<SampleError> largest_errors;  // at most ten, the largest first
};

// `data` are those of the predictions, loaded with Targets::kIfPresent. Unknown targets are left out, and samples that
// have no other.
// Throws UserError kData if no sample has a target.
PredictionOverview prediction_overview(const TrainedModel& trained, const InferenceData& data,
                                       const Predictions& predictions);

}  // namespace rnnlab
