#include "training/objective.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace rnnlab {
namespace {

bool has_classes(Task task) { return task == Task::kClassification || task == Task::kLanguageModel; }

LossKind natural_loss(Task task) {
  if (has_classes(task)) return LossKind::kCrossEntropy;
  return task == Task::kBinary ? LossKind::kBinaryCrossEntropy : LossKind::kMse;
}

LossKind resolve(LossKind loss, Task task) {
  if (loss == LossKind::kAuto) return natural_loss(task);
  if (has_classes(task) && loss != LossKind::kCrossEntropy) {
    throw_error(ExitCode::kUsage, "training.loss: the data's targets are classes, which need cross_entropy (or auto)");
  }
  if (!has_classes(task) && loss == LossKind::kCrossEntropy) {
    throw_error(ExitCode::kUsage,
                "training.loss: cross_entropy needs classes, but the data's targets are numbers; use mse, "
                "binary_cross_entropy or auto");
  }
  return loss;
}

Evaluation cross_entropy(const at::Tensor& output, const at::Tensor& targets) {
  const auto logits = output.dim() > 2 ? output.flatten(0, -2) : output;
  const auto classes = targets.dim() > 1 ? targets.flatten() : targets;
  auto loss = at::cross_entropy_loss(logits, classes);
  const at::NoGradGuard no_grad;
  return {loss, logits.argmax(-1).eq(classes).sum(at::kFloat), classes.numel()};
}

Evaluation binary_cross_entropy_of_logits(const at::Tensor& logits, const at::Tensor& targets) {
  auto loss = at::binary_cross_entropy_with_logits(logits, targets);
  const at::NoGradGuard no_grad;
  return {loss, logits.gt(0).eq(targets.ge(0.5)).sum(at::kFloat), targets.numel()};
}

Evaluation mean_squared_error(const at::Tensor& output, const at::Tensor& targets) {
  auto loss = at::mse_loss(output, targets);
  const at::NoGradGuard no_grad;
  return {loss, at::l1_loss(output, targets, at::Reduction::Sum), targets.numel()};
}

}  // namespace

void Totals::add(double mean_loss, double metric, int64_t num_targets) {
  loss_sum += mean_loss * static_cast<double>(num_targets);
  metric_sum += metric;
  count += num_targets;
}

Objective::Objective(LossKind loss, const DataShape& shape) : loss_(resolve(loss, shape.task)), task_(shape.task) {}

Evaluation Objective::evaluate(const at::Tensor& output, const at::Tensor& targets) const {
  const auto values = output.to(at::kFloat);
  if (loss_ == LossKind::kCrossEntropy) return cross_entropy(values, targets);
  RNNLAB_INVARIANT(values.sizes() == targets.sizes(), "output and targets differ in shape");
  return loss_ == LossKind::kMse ? mean_squared_error(values, targets)
                                 : binary_cross_entropy_of_logits(values, targets);
}

Metrics Objective::metrics(const Totals& totals) const {
  RNNLAB_INVARIANT(totals.count > 0, "metrics of no targets");
  const auto count = static_cast<double>(totals.count);
  Metrics metrics;
  metrics.loss = totals.loss_sum / count;
  if (loss_ == LossKind::kMse) {
    metrics.mean_absolute_error = totals.metric_sum / count;
    metrics.root_mean_squared_error = std::sqrt(metrics.loss);
    return metrics;
  }
  metrics.accuracy = totals.metric_sum / count;
  if (task_ == Task::kLanguageModel) {
    metrics.perplexity = std::exp(metrics.loss);
    metrics.bits_per_token = metrics.loss / std::numbers::ln2;
  }
  return metrics;
}

}  // namespace rnnlab
