// SPDX-License-Identifier: Apache-2.0
#include "train/loop/losses.h"

#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab {
namespace {

using at::Reduction::Reduction;

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& classes, Reduction reduction) {
  return at::cross_entropy_loss(logits, classes, {}, reduction);
}

at::Tensor binary_cross_entropy(const at::Tensor& logits, const at::Tensor& targets, Reduction reduction) {
  return at::binary_cross_entropy_with_logits(logits, targets, {}, {}, reduction);
}

at::Tensor squared_error(const at::Tensor& output, const at::Tensor& targets, Reduction reduction) {
  return at::mse_loss(output, targets, reduction);
}

at::Tensor absolute_error(const at::Tensor& output, const at::Tensor& targets, Reduction reduction) {
  return at::l1_loss(output, targets, reduction);
}

// Huber, Robust Estimation of a Location Parameter (1964): e^2 / 2 up to an error of 1, and |e| - 1/2 from there on.
at::Tensor huber(const at::Tensor& output, const at::Tensor& targets, Reduction reduction) {
  return at::huber_loss(output, targets, reduction, /*delta=*/1.0);
}

// The first loss of each kind of targets is the one that `auto` takes.
constexpr std::array kLosses = {
    LossInfo{LossKind::kCrossEntropy, LossTargets::kClasses, cross_entropy},
    LossInfo{LossKind::kBinaryCrossEntropy, LossTargets::kBinary, binary_cross_entropy,
             kernels::ElementLossKind::kBinaryCrossEntropy},
    LossInfo{LossKind::kMse, LossTargets::kNumbers, squared_error, kernels::ElementLossKind::kSquaredError},
    LossInfo{LossKind::kMae, LossTargets::kNumbers, absolute_error},
    LossInfo{LossKind::kHuber, LossTargets::kNumbers, huber},
};

LossTargets targets_of(Task task) {
  switch (task) {
    case Task::kClassification:
    case Task::kLanguageModel:
      return LossTargets::kClasses;
    case Task::kBinary:
      return LossTargets::kBinary;
    case Task::kRegression:
      return LossTargets::kNumbers;
  }
  fail_invariant("a listed task", __FILE__, __LINE__, "no loss is known for the task");
}

}  // namespace

bool LossInfo::suits(Task task) const { return targets == targets_of(task); }

MetricTask metric_task(LossKind loss, Task task) {
  if (task == Task::kLanguageModel) return MetricTask::kTokens;
  switch (info_of(loss).targets) {
    case LossTargets::kClasses:
      return MetricTask::kClasses;
    case LossTargets::kBinary:
      return MetricTask::kBinary;
    case LossTargets::kNumbers:
      return MetricTask::kNumbers;
  }
  fail_invariant("listed targets", __FILE__, __LINE__, "no metrics are known for the targets of the loss");
}

const LossInfo& info_of(LossKind loss) {
  const auto found = std::ranges::find(kLosses, loss, &LossInfo::kind);
  RNNLAB_INVARIANT(found != kLosses.end(), "a loss must be in the list of losses");
  return *found;
}

LossKind natural_loss(Task task) {
  return std::ranges::find_if(kLosses, [&](const LossInfo& loss) { return loss.suits(task); })->kind;
}

std::string names_of_losses(LossTargets targets) {
  std::vector<std::string> names;
  for (const LossInfo& loss : kLosses)
    if (loss.targets == targets) names.emplace_back(config::name_of(loss.kind));
  return join_with_or(names);
}

}  // namespace rnnlab
