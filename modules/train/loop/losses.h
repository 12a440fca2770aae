// SPDX-License-Identifier: Apache-2.0
// The list of losses: what kind of targets each is for, and how it is computed. A new loss is a record in losses.cpp,
// and its name in training_settings.h; its metrics, baselines, predictions and checks follow from `targets`, and from
// `distribution` if its outputs describe one.
#pragma once

#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "results/metrics.h"
#include "train/loop/distributions.h"
#include "train/loop/kernels/loss.h"
#include "train/loop/training_settings.h"

namespace rnnlab {

// What the outputs of a model that is trained by the loss mean: scores of classes, logits of targets that are 0 or 1,
// or numbers.
enum class LossTargets { kClasses, kBinary, kNumbers };

struct LossInfo {
  using Function = at::Tensor (*)(const at::Tensor& output, const at::Tensor& targets, at::Reduction::Reduction);

  LossKind kind;
  LossTargets targets;
  // Of outputs (N, classes) and classes (N), or of outputs and targets of one shape; null with a distribution.
  Function function = nullptr;
  // Our own kernel on a GPU, for a loss of numbers or binary targets; classes have one too.
  std::optional<kernels::ElementLossKind> own_kernel = std::nullopt;
  // The outputs describe a distribution of each target (distributions.h); null if they are values of the targets.
  const Distribution* distribution = nullptr;

  bool takes_classes() const { return targets == LossTargets::kClasses; }
  bool measures_errors() const { return targets == LossTargets::kNumbers; }
  bool suits(Task task) const;
};

// A loss with what it needs of a run: its quantiles, and how targets are scaled.
class Loss {
 public:
  // kAuto is the loss of the data's task.
  Loss(const TrainingSettings& settings, const FittedData& data, c10::Device device);

  const LossInfo& info() const { return *info_; }
  LossKind kind() const { return info_->kind; }
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

  const LossInfo* info_;
  int64_t numbers_per_target_;
  ForecastTerms terms_;
};

// Returns what the metrics are of (results/metrics.h).
MetricTask metric_task(LossKind loss, Task task);

// Call this function with a resolved loss: it throws InvariantError for kAuto (see natural_loss) and for any value that
// the list does not have.
const LossInfo& info_of(LossKind loss);

// Returns whether the outputs describe a distribution; kAuto never stands for such a loss.
bool has_distribution(LossKind loss);

// Returns the loss that kAuto stands for: the first of the list that suits the task.
LossKind natural_loss(Task task);

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

// Returns "mse, mae, huber ...": the names of the losses of such targets.
std::string names_of_losses(LossTargets targets);

// Returns the names of the losses with a distribution.
std::string names_of_distributions();

}  // namespace rnnlab
