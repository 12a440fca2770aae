// SPDX-License-Identifier: Apache-2.0
// The record of a loss: what kind of targets it is for, and how it is computed. A new loss is a record in losses.cpp,
// or in distributions.cpp if its outputs describe a distribution, and a line in loss_list.inc; its metrics, baselines,
// predictions and checks follow from the record.
#pragma once

#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "results/metrics.h"
#include "train/loop/kernels/loss.h"
#include "train/loop/training_settings.h"

namespace rnnlab {

// What the outputs of a model that is trained by the loss mean: scores of classes, logits of targets that are 0 or 1,
// or numbers.
enum class LossTargets { kClasses, kBinary, kNumbers };

// ---- losses whose outputs describe a distribution of each target instead of a value ----

// A distribution says how many numbers the model gives for a target, what the loss of a target is, and which forecasts
// follow: a point, which predictions and errors are of, and quantiles, which intervals are of. Left out: mixtures, and
// distributions of several targets together.

// What the functions of a distribution need besides outputs and targets, on their device.
struct ForecastTerms {
  std::vector<double> levels;  // (L), ascending, within 0 to 1: of the quantiles; 0.5 is one of them
  at::Tensor level_tensor;     // the same, float64
  at::Tensor offsets = {};     // (K) float64: targets are (value - offset) / scale; undefined if they are not scaled
  at::Tensor scales = {};      // (K) float64

  int64_t place_of_median() const;
};

// Returns nothing for no levels, which are those of a loss without a distribution.
ForecastTerms forecast_terms(const std::vector<double>& levels, const std::vector<ColumnScale>& target_scales,
                             c10::Device device);

// Numbers are (..., K, P): P numbers that the model gives for each of K targets. Targets and forecasts are scaled as in
// training, and have the type of the numbers.
struct Distribution {
  // Returns P for this number of levels.
  int64_t (*num_parameters)(int64_t num_levels);

  // Returns (..., K): the loss of each target.
  at::Tensor (*losses)(const at::Tensor& numbers, const at::Tensor& targets, const ForecastTerms& terms);

  // Returns (..., K).
  at::Tensor (*point)(const at::Tensor& numbers, const ForecastTerms& terms);

  // Returns (..., K, L), ascending along L.
  at::Tensor (*quantiles)(const at::Tensor& numbers, const ForecastTerms& terms);

  bool is_of_counts = false;  // targets must be at least 0 in their own units
};

// ---- the list ----

struct LossInfo {
  using Function = at::Tensor (*)(const at::Tensor& output, const at::Tensor& targets, at::Reduction::Reduction);

  LossTargets targets;

  // Of outputs (N, classes) and classes (N), or of outputs and targets of one shape; null with a distribution.
  Function function = nullptr;

  // The sum of the losses of classes that are not kMissingClass, each times the weight of its class (undefined weights
  // are 1), for classes that may be missing or have weights. Null if that is not supported, and for other targets.
  at::Tensor (*weighted_sum)(const at::Tensor& output, const at::Tensor& classes, const at::Tensor& weights) = nullptr;

  // Our own kernel on a GPU, of the mean loss, the sum of its metric and the gradient; null without. The tensors are
  // contiguous.
  void (*run_own_kernel)(const at::Tensor& output, const at::Tensor& targets,
                         const kernels::LossResults& results) = nullptr;

  // The outputs describe a distribution of each target; null if they are values of the targets.
  const Distribution* distribution = nullptr;

  bool takes_classes() const { return targets == LossTargets::kClasses; }
  bool measures_errors() const { return targets == LossTargets::kNumbers; }
  bool suits(Task task) const;
};

inline constexpr int kMissingClass = -1;

#define RNNLAB_LOSS(enumerator, name, help) extern const LossInfo name##_loss;
#include "train/loop/loss_list.inc"

// Call this function with a resolved loss: it throws InvariantError for kAuto (see natural_loss) and for any value that
// the list does not have.
const LossInfo& info_of(LossKind loss);

// A loss with what it needs of a run: its quantiles, and how targets are scaled.
class Loss {
 public:
  // kAuto is the loss of the data's task.
  Loss(const TrainingSettings& settings, const FittedData& data, c10::Device device);

  const LossInfo& info() const { return info_of(kind_); }
  LossKind kind() const { return kind_; }
  int64_t numbers_per_target() const { return numbers_per_target_; }

  // Returns the loss of outputs and targets on the device: of each target, or their mean.
  // Classes: (N, classes) and (N). Else (N, K * numbers_per_target) and (N, K).
  at::Tensor compute(const at::Tensor& output, const at::Tensor& targets, at::Reduction::Reduction reduction) const;

  // Returns (N, K): the forecast values, scaled like the targets. They are the outputs themselves unless these describe
  // a distribution.
  at::Tensor point(const at::Tensor& output) const;

  // Returns (N, K, L): forecast quantiles. Requires levels. Waits for the device.
  at::Tensor quantiles(const at::Tensor& output) const;

  // Returns the levels of the quantiles, ascending; empty without a distribution.
  const std::vector<double>& levels() const { return terms_.levels; }

 private:
  at::Tensor numbers_of(const at::Tensor& output) const;

  LossKind kind_;
  int64_t numbers_per_target_;
  ForecastTerms terms_;
};

// Returns whether the outputs describe a distribution; kAuto never stands for such a loss.
bool has_distribution(LossKind loss);

// Returns the loss that kAuto stands for: the first of the list that suits the task.
LossKind natural_loss(Task task);

// Returns "mse, mae, huber ...": the names of the losses of such targets.
std::string names_of_losses(LossTargets targets);

// Returns the names of the losses with a distribution.
std::string names_of_distributions();

// Returns the names of the losses of classes that may have weights.
std::string names_of_weighted_losses();

// Returns what the metrics are of (results/metrics.h).
MetricTask metric_task(LossKind loss, Task task);

// Returns the forecast quantiles in units of the targets: (N, K, L) float64 of outputs (N, K * numbers_per_target);
// undefined for a loss without a distribution. `samples` are those of the outputs.
at::Tensor quantiles_in_units(const at::Tensor& outputs, const Loss& loss, const FittedData& data,
                              const Samples& samples);

// Returns how many numbers the model gives for each target: 1, or those of a distribution (DataShape).
int64_t numbers_per_target(const TrainingSettings& settings);

// Returns the levels of the quantiles that a loss with a distribution has; empty for other losses.
std::vector<double> levels_of(const TrainingSettings& settings);

// Throws UserError kData for a target that the loss has no value for: a negative count.
void require_targets_of(const TrainingSettings& settings, const Samples& part, const FittedData& data);

// Calls work(first, count) for consecutive pieces of rows: copies of all of them may not fit into memory.
template <class Work>
void for_rows_at_a_time(int64_t num_rows, Work work) {
  constexpr int64_t kMost = 65'536;
  for (int64_t first = 0; first < num_rows; first += kMost) work(first, std::min(kMost, num_rows - first));
}

}  // namespace rnnlab
