// SPDX-License-Identifier: Apache-2.0
// Computes the metrics of scores (results/metrics.h) that a run asks for: collects what the model gives for each batch
// of a part, which waits for the device once a batch, and gathers it over all processes.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "data/batches.h"
#include "data/dataset.h"
#include "results/metrics.h"
#include "train/loop/losses.h"
#include "train/loop/training_settings.h"
#include "train/ranks/ranks.h"

namespace rnnlab {

using MetricResults = std::map<std::string, MetricResult>;  // by the names of the list

// Returns the metrics of scores that training.metrics, early_stopping and stop_at name, in the order of the list.
std::vector<const MetricInfo*> asked_metrics(const TrainingSettings& settings);

// Returns the columns of epochs.csv for them.
std::vector<std::string> asked_columns(const TrainingSettings& settings);

// Returns the outputs of a batch on the host, (M, K) float32: a row a sample, or a step of a sample within its length,
// sample by sample.
at::Tensor output_rows(const at::Tensor& output, const Batch& batch, bool is_per_step);

// The part must outlive this object.
class ScoreMetrics {
 public:
  // `loss` is on the CPU. `part` is what the batches are of, in its order; `naive_errors` are those of the training
  // part.
  ScoreMetrics(std::vector<const MetricInfo*> metrics, Loss loss, FittedData data, const Samples& part,
               std::vector<double> naive_errors);

  bool empty() const { return metrics_.empty(); }

  // Begins a new evaluation of the part.
  void clear() { outputs_.clear(); }

  // Appends what the model gives for the next batch.
  void add(const at::Tensor& output, const Batch& batch);

  // Call this function after all batches. If there are several `ranks`, each has added its share of the batches, which
  // have `batch_size` samples (BatchShare::Kind::kWholeBatches), and all call this function; every rank returns the
  // same results, bit for bit those of one process.
  MetricResults results(int64_t batch_size, Ranks& ranks = sole_rank()) const;

 private:
  std::vector<int64_t> rows_of_batches(int64_t batch_size) const;
  at::Tensor own_outputs() const;
  at::Tensor outputs_of_all(int64_t batch_size, Ranks& ranks) const;
  MetricResult compute(const MetricInfo& metric, const PartScores& scores) const;
  MetricResults results_of(const at::Tensor& outputs) const;

  std::vector<const MetricInfo*> metrics_;
  Loss loss_;
  FittedData data_;
  MetricTask task_;
  const Samples& part_;
  std::vector<double> naive_errors_;
  std::vector<at::Tensor> outputs_;  // of each batch
};

}  // namespace rnnlab
