// SPDX-License-Identifier: Apache-2.0
#include "train/loop/losses.h"

#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "layers/device/run_kernels.h"

namespace rnnlab {
namespace {

using at::Reduction::Reduction;

template <class Work>
void run(Work work, const at::Tensor& output) {
  const at::Tensor parts = at::empty({kernels::num_loss_parts(work), 2}, output.options());
  work.results.parts = parts.mutable_data_ptr<float>();
  run_kernels(work, output);
}

template <kernels::ElementLossKind kKind>
void run_elements(const at::Tensor& output, const at::Tensor& targets, const kernels::LossResults& results) {
  run(kernels::ElementLoss{.kind = kKind,
                           .outputs = output.const_data_ptr<float>(),
                           .targets = targets.const_data_ptr<float>(),
                           .size = output.numel(),
                           .results = results},
      output);
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& classes, Reduction reduction) {
  return at::cross_entropy_loss(logits, classes, {}, reduction);
}

at::Tensor weighted_cross_entropy(const at::Tensor& logits, const at::Tensor& classes, const at::Tensor& weights) {
  const std::optional<at::Tensor> weight = weights.defined() ? std::optional(weights) : std::nullopt;
  return at::cross_entropy_loss(logits, classes, weight, at::Reduction::Sum, kMissingClass);
}

void run_cross_entropy(const at::Tensor& logits, const at::Tensor& classes, const kernels::LossResults& results) {
  run(kernels::CrossEntropy{.logits = logits.const_data_ptr<float>(),
                            .classes = classes.const_data_ptr<int64_t>(),
                            .num_rows = logits.size(0),
                            .num_classes = logits.size(1),
                            .results = results},
      logits);
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

}  // namespace

constinit const LossInfo cross_entropy_loss = {.targets = LossTargets::kClasses,
                                               .function = cross_entropy,
                                               .weighted_sum = weighted_cross_entropy,
                                               .run_own_kernel = run_cross_entropy};

constinit const LossInfo binary_cross_entropy_loss = {
    .targets = LossTargets::kBinary,
    .function = binary_cross_entropy,
    .run_own_kernel = run_elements<kernels::ElementLossKind::kBinaryCrossEntropy>};

constinit const LossInfo mse_loss = {.targets = LossTargets::kNumbers,
                                     .function = squared_error,
                                     .run_own_kernel = run_elements<kernels::ElementLossKind::kSquaredError>};

constinit const LossInfo mae_loss = {.targets = LossTargets::kNumbers, .function = absolute_error};

constinit const LossInfo huber_loss = {.targets = LossTargets::kNumbers, .function = huber};

const LossInfo& info_of(LossKind loss) {
  switch (loss) {
    case LossKind::kAuto:
      break;
#define RNNLAB_LOSS(enumerator, name, help) \
  case LossKind::enumerator:                \
    return name##_loss;
#include "train/loop/loss_list.inc"
  }
  fail_invariant("a listed loss", __FILE__, __LINE__, "info_of needs a loss of the list");
}

namespace {

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

constexpr std::array kLosses = {
#define RNNLAB_LOSS(enumerator, name, help) LossKind::enumerator,
#include "train/loop/loss_list.inc"
};

template <class Wanted>
std::string names_where(Wanted is_wanted) {
  std::vector<std::string> names;
  for (const LossKind loss : kLosses)
    if (is_wanted(info_of(loss))) names.emplace_back(config::name_of(loss));
  return join_with_or(names);
}

}  // namespace

bool LossInfo::suits(Task task) const { return targets == targets_of(task); }

bool has_distribution(LossKind loss) { return loss != LossKind::kAuto && info_of(loss).distribution != nullptr; }

LossKind natural_loss(Task task) {
  return *std::ranges::find_if(kLosses, [&](LossKind loss) { return info_of(loss).suits(task); });
}

std::string names_of_losses(LossTargets targets) {
  return names_where([&](const LossInfo& loss) { return loss.targets == targets; });
}

std::string names_of_distributions() { return names_where(std::mem_fn(&LossInfo::distribution)); }

std::string names_of_weighted_losses() { return names_where(std::mem_fn(&LossInfo::weighted_sum)); }

namespace {

// Returns the loss, which must fit the targets.
LossKind resolved(LossKind loss, Task task) {
  if (loss == LossKind::kAuto) return natural_loss(task);
  const bool has_classes = info_of(natural_loss(task)).takes_classes();
  if (has_classes && !info_of(loss).takes_classes())
    throw_error(ExitCode::kUsage, "training.loss: the data's targets are classes, which need {} (or auto)",
                names_of_losses(LossTargets::kClasses));
  if (!has_classes && info_of(loss).takes_classes())
    throw_error(ExitCode::kUsage,
                "training.loss: {} needs classes, but the data's targets are numbers; use auto, {}, {}",
                config::name_of(loss), names_of_losses(LossTargets::kBinary), names_of_losses(LossTargets::kNumbers));
  return loss;
}

at::Tensor reduced(const at::Tensor& losses, Reduction reduction) {
  return reduction == at::Reduction::None ? losses : reduction == at::Reduction::Mean ? losses.mean() : losses.sum();
}

}  // namespace

Loss::Loss(const TrainingSettings& settings, const FittedData& data, c10::Device device)
    : kind_(resolved(settings.loss, data.shape.task)),
      numbers_per_target_(rnnlab::numbers_per_target(settings)),
      terms_(forecast_terms(levels_of(settings), data.target_scales, device)) {}

at::Tensor Loss::numbers_of(const at::Tensor& output) const {
  return output.unflatten(-1, {output.size(-1) / numbers_per_target_, numbers_per_target_});
}

at::Tensor Loss::compute(const at::Tensor& output, const at::Tensor& targets,
                         at::Reduction::Reduction reduction) const {
  if (info().distribution == nullptr) return info().function(output, targets, reduction);
  return reduced(info().distribution->losses(numbers_of(output), targets, terms_), reduction);
}

at::Tensor Loss::point(const at::Tensor& output) const {
  return info().distribution == nullptr ? output : info().distribution->point(numbers_of(output), terms_);
}

at::Tensor Loss::quantiles(const at::Tensor& output) const {
  RNNLAB_INVARIANT(info().distribution != nullptr, "only a distribution has quantiles");
  return info().distribution->quantiles(numbers_of(output), terms_);
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
              "training.loss: {} forecasts counts, but the smallest target is {:g}; use another loss, such as gaussian",
              config::name_of(settings.loss), smallest);
}

int64_t ForecastTerms::place_of_median() const {
  const auto median = std::ranges::find(levels, 0.5);
  RNNLAB_INVARIANT(median != levels.end(), "the quantiles of a forecast must have the median");
  return median - levels.begin();
}

ForecastTerms forecast_terms(const std::vector<double>& levels, const std::vector<ColumnScale>& target_scales,
                             c10::Device device) {
  if (levels.empty()) return {};
  ForecastTerms terms{.levels = levels, .level_tensor = at::tensor(levels, at::kDouble).to(device)};
  if (target_scales.empty()) return terms;
  std::vector<double> offsets, scales;
  for (const ColumnScale& target : target_scales) {
    offsets.push_back(target.offset);
    scales.push_back(target.scale);
  }
  terms.offsets = at::tensor(offsets, at::kDouble).to(device);
  terms.scales = at::tensor(scales, at::kDouble).to(device);
  return terms;
}

}  // namespace rnnlab
