// SPDX-License-Identifier: Apache-2.0
// The list of losses: what kind of targets each is for, and how it is computed. A new loss is a record in losses.cpp,
// and its name in training_settings.h; its metrics, baselines, predictions and checks follow from `targets`.
#pragma once

#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <string_view>

#include "data/dataset.h"
#include "results/metrics.h"
#include "train/loop/kernels/loss.h"
#include "train/loop/training_settings.h"

namespace rnnlab {

// What the outputs of a model that is trained by the loss mean: scores of classes, logits of targets that are 0 or 1,
// or numbers.
enum class LossTargets { kClasses, kBinary, kNumbers };

struct LossInfo {
  LossKind kind;
  LossTargets targets;
  // Of outputs (N, classes) and classes (N), or of outputs and targets of one shape.
  at::Tensor (*compute)(const at::Tensor& output, const at::Tensor& targets, at::Reduction::Reduction reduction);
  // Our own kernel on a GPU, for a loss of numbers or binary targets; classes have one too.
  std::optional<kernels::ElementLossKind> own_kernel = std::nullopt;

  bool takes_classes() const { return targets == LossTargets::kClasses; }
  bool measures_errors() const { return targets == LossTargets::kNumbers; }
  bool suits(Task task) const;
};

// Returns what the metrics are of (results/metrics.h).
MetricTask metric_task(LossKind loss, Task task);

// Call this function with a resolved loss: it throws InvariantError for kAuto (see natural_loss) and for any value that
// the list does not have.
const LossInfo& info_of(LossKind loss);

// Returns the loss that kAuto stands for: the first of the list that suits the task.
LossKind natural_loss(Task task);

// Returns "mse, mae or huber": the names of the losses of such targets.
std::string names_of_losses(LossTargets targets);

}  // namespace rnnlab
