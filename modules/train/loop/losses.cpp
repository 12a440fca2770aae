// SPDX-License-Identifier: Apache-2.0
#include "train/loop/losses.h"

#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/stack.h>

#include <array>
#include <cmath>
#include <limits>

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
    LossInfo{.kind = LossKind::kQuantile, .targets = LossTargets::kNumbers, .distribution = &kQuantileForecast},
    LossInfo{.kind = LossKind::kGaussian, .targets = LossTargets::kNumbers, .distribution = &kGaussianForecast},
    LossInfo{.kind = LossKind::kStudent, .targets = LossTargets::kNumbers, .distribution = &kStudentForecast},
    LossInfo{.kind = LossKind::kPoisson, .targets = LossTargets::kNumbers, .distribution = &kPoissonForecast},
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

namespace {

// Returns the loss, which must fit the targets.
LossKind resolved(LossKind loss, Task task) {
  if (loss == LossKind::kAuto) return natural_loss(task);
  const bool has_classes = info_of(natural_loss(task)).takes_classes();
  if (has_classes && !info_of(loss).takes_classes())
    throw_error(ExitCode::kUsage, "training.loss: the data's targets are classes, which need cross_entropy (or auto)");
  if (!has_classes && info_of(loss).takes_classes())
    throw_error(ExitCode::kUsage,
                "training.loss: cross_entropy needs classes, but the data's targets are numbers; use auto, "
                "binary_cross_entropy, {}",
                names_of_losses(LossTargets::kNumbers));
  return loss;
}

at::Tensor reduced(const at::Tensor& losses, Reduction reduction) {
  return reduction == at::Reduction::None ? losses : reduction == at::Reduction::Mean ? losses.mean() : losses.sum();
}

}  // namespace

Loss::Loss(const TrainingSettings& settings, const FittedData& data, c10::Device device)
    : info_(&info_of(resolved(settings.loss, data.shape.task))),
      numbers_per_target_(rnnlab::numbers_per_target(settings)),
      terms_(forecast_terms(levels_of(settings), data.target_scales, device)) {}

at::Tensor Loss::numbers_of(const at::Tensor& output) const {
  return output.unflatten(-1, {output.size(-1) / numbers_per_target_, numbers_per_target_});
}

at::Tensor Loss::compute(const at::Tensor& output, const at::Tensor& targets, Reduction reduction) const {
  if (info_->distribution == nullptr) return info_->function(output, targets, reduction);
  return reduced(info_->distribution->losses(numbers_of(output), targets, terms_), reduction);
}

at::Tensor Loss::point(const at::Tensor& output) const {
  return info_->distribution == nullptr ? output : info_->distribution->point(numbers_of(output), terms_);
}

at::Tensor Loss::quantiles(const at::Tensor& output) const {
  RNNLAB_INVARIANT(info_->distribution != nullptr, "only a distribution has quantiles");
  return info_->distribution->quantiles(numbers_of(output), terms_);
}

at::Tensor quantiles_in_units(const at::Tensor& outputs, const Loss& loss, const FittedData& data,
                              const Samples& samples) {
  if (loss.levels().empty()) return {};
  std::vector<at::Tensor> in_units;
  for (const at::Tensor& quantile : loss.quantiles(outputs.to(at::kDouble)).unbind(-1))
    in_units.push_back(in_units_of_targets(quantile, data, samples));
  return at::stack(in_units, -1).contiguous();
}

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

bool has_distribution(LossKind loss) { return loss != LossKind::kAuto && info_of(loss).distribution != nullptr; }

LossKind natural_loss(Task task) {
  return std::ranges::find_if(kLosses, [&](const LossInfo& loss) { return loss.suits(task); })->kind;
}

int64_t numbers_per_target(const TrainingSettings& settings) {
  if (!has_distribution(settings.loss)) return 1;
  return info_of(settings.loss).distribution->num_parameters(std::ssize(levels_of(settings)));
}

std::vector<double> levels_of(const TrainingSettings& settings) {
  if (!has_distribution(settings.loss)) return {};
  return settings.quantiles.empty() ? std::vector{0.1, 0.5, 0.9} : settings.quantiles;
}

namespace {

// Returns the smallest known target, in its own units.
double smallest_target(const Samples& part, const FittedData& data) {
  double smallest = std::numeric_limits<double>::infinity();
  const at::Tensor rows = target_rows(part);
  for_rows_at_a_time(rows.size(0), [&](int64_t first, int64_t count) {
    const at::Tensor values = in_units_of_targets(rows.narrow(0, first, count), data, Samples());
    smallest = std::min(smallest, values.nan_to_num(smallest).min().item<double>());
  });
  return smallest;
}

// Rounding by the scaling of targets may leave a count of 0 a little below it.
double least_count(const FittedData& data) {
  constexpr double kRounding = 1e-6;
  double largest = 0;
  for (const ColumnScale& target : data.target_scales)
    largest = std::max(largest, target.scale + std::abs(target.offset));
  return -kRounding * largest;
}

}  // namespace

void require_targets_of(const TrainingSettings& settings, const Samples& part, const FittedData& data) {
  if (part.size() == 0 || !has_distribution(settings.loss) || !info_of(settings.loss).distribution->is_of_counts)
    return;
  const double smallest = smallest_target(part, data);
  if (smallest >= least_count(data)) return;
  throw_error(ExitCode::kData,
              "training.loss: poisson forecasts counts, but the smallest target is {:g}; use another loss, such as "
              "gaussian",
              smallest);
}

namespace {

template <class Wanted>
std::string names_where(Wanted is_wanted) {
  std::vector<std::string> names;
  for (const LossInfo& loss : kLosses)
    if (is_wanted(loss)) names.emplace_back(config::name_of(loss.kind));
  return join_with_or(names);
}

}  // namespace

std::string names_of_losses(LossTargets targets) {
  return names_where([&](const LossInfo& loss) { return loss.targets == targets; });
}

std::string names_of_distributions() {
  return names_where([](const LossInfo& loss) { return loss.distribution != nullptr; });
}

}  // namespace rnnlab
