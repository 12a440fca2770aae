// SPDX-License-Identifier: Apache-2.0
#include "train/loop/stopping.h"

#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "base/numbers.h"
#include "data/mapped_inputs.h"
#include "results/quality.h"
#include "train/loop/losses.h"

namespace rnnlab {

EarlyStopping::EarlyStopping(const TrainingSettings& settings)
    : metric_(settings.early_stopping.value_or("")),
      patience_(settings.patience),
      min_delta_(settings.early_stopping ? settings.min_delta : 0.0) {}

void EarlyStopping::update_best(const EpochRow& row, TrainingState& state) const {
  const auto value = watched_value(row, metric_);
  if (!value) return;
  if (state.best_value && !improves(metric_, *value, *state.best_value, min_delta_)) return;
  state.best_value = value;
  state.best_epoch = row.epoch;
}

void EarlyStopping::stop_if_patience_is_over(TrainingState& state) const {
  if (metric_.empty() || !state.best_value || state.epoch - state.best_epoch < patience_) return;
  state.stop(StopReason::kEarlyStopping,
             fmt::format("{} has not improved by more than {} for {} (best {:.6g} at epoch {})", metric_, min_delta_,
                         counted(patience_, "epoch"), *state.best_value, state.best_epoch));
}

void count_plateaus(const Schedule& schedule, TrainingState& state) {
  if (!info_of(schedule.kind).counts_plateaus() || !state.best_value) return;
  const int64_t began = std::max(state.best_epoch, state.plateau_epoch.value_or(0));
  if (state.epoch - began < schedule.decay_patience) return;
  state.num_plateaus = state.num_plateaus.value_or(0) + 1;
  state.plateau_epoch = state.epoch;
}

void StopTarget::update(const EpochRow& row, TrainingState& state) const {
  if (!state.target_epoch && reaches(row, targets_)) state.target_epoch = row.epoch;
}

void StopTarget::stop_if_reached(TrainingState& state) const {
  if (!state.target_epoch) return;
  state.stop(StopReason::kTarget,
             fmt::format("epoch {} reached training.stop_at ({})", *state.target_epoch, target_text(targets_)));
}

namespace {

constexpr const char* kAdvice = "try a smaller training.learning_rate or training.clip_norm";

bool all_finite(const at::Tensor& tensor) { return at::isfinite(tensor.detach()).all().item<bool>(); }

std::optional<std::string> first_bad_tensor(const std::vector<NamedTensor>& tensors) {
  const auto bad = std::find_if(tensors.begin(), tensors.end(), [](const auto& t) { return !all_finite(t.tensor); });
  if (bad == tensors.end()) return std::nullopt;
  return bad->name;
}

enum class Nan { kIsBad, kIsMissing };

// The check runs in chunks, because the mask of a large data set may not fit in memory together with the data.
std::optional<int64_t> first_bad_sample(const at::Tensor& tensor, Nan nan = Nan::kIsBad) {
  constexpr int64_t kChunk = 4096;
  if (!tensor.defined() || !tensor.is_floating_point()) return std::nullopt;
  for (int64_t begin = 0; begin < tensor.size(0); begin += kChunk) {
    const auto chunk = tensor.narrow(0, begin, std::min(kChunk, tensor.size(0) - begin));
    const auto is_fine = nan == Nan::kIsMissing ? chunk.isinf().logical_not() : at::isfinite(chunk);
    const auto bad = is_fine.flatten(1).all(1).logical_not();
    if (bad.any().item<bool>()) return begin + bad.to(at::kByte).argmax().item<int64_t>();
  }
  return std::nullopt;
}

// The values of the file are finite, but their scaling may exceed float32.
std::optional<int64_t> first_bad_mapped_sample(const Samples& samples) {
  return samples.mapped->find(samples.all_lengths(), [](int64_t, std::span<const float> values) {
    return first_not_finite(values).has_value();
  });
}

std::optional<std::string> data_error(const Samples& samples, const std::string& set) {
  if (const auto sample = samples.mapped ? first_bad_mapped_sample(samples) : first_bad_sample(samples.inputs))
    return fmt::format("the inputs of {} sample {} (from 0) are not finite", set, *sample);
  if (const auto sample = first_bad_sample(samples.targets, Nan::kIsMissing))
    return fmt::format("the targets of {} sample {} (from 0) are not finite", set, *sample);
  return std::nullopt;
}

std::string gradient_error(const std::vector<std::string>& names) {
  RNNLAB_INVARIANT(!names.empty(), "a step that is not finite must have a loss or a gradient that is not finite");
  const auto others = std::ssize(names) - 1;
  return fmt::format(
      "gradient of {} is not finite{}", names.front(),
      others == 0 ? "" : fmt::format(" (nor {} {})", others == 1 ? "is" : "are", counted(others, "other")));
}

std::string losses(const BadStep& bad) {
  if (bad.previous_loss) return fmt::format("loss {:.6g} at the step before", *bad.previous_loss);
  return std::isfinite(bad.loss) ? fmt::format("loss {:.6g}", bad.loss) : "the first step";
}

std::string where(const BadStep& bad) {
  return fmt::format("training diverged at epoch {}, step {}", bad.epoch, bad.step);
}

std::string weights_left(int64_t step) {
  return step == 0 ? "weights are the initial ones" : fmt::format("weights are those of step {}", step);
}

std::string weight_error(const std::string& name, int64_t step) {
  return fmt::format("weight {} is not finite {}", name,
                     step == 0 ? "from the start" : fmt::format("after the update of step {}", step));
}

}  // namespace

bool is_finite(const StepRow& row) {
  return std::isfinite(row.loss) && std::all_of(row.gradient_norms.begin(), row.gradient_norms.end(),
                                                [](double norm) { return std::isfinite(norm); });
}

void throw_diverged(const BadStep& bad, const std::vector<NamedTensor>& parameters, const Samples& train) {
  const int64_t last_good = bad.step - 1;
  if (const auto weight = first_bad_tensor(parameters)) {
    throw_error(ExitCode::kDiverged, "{}: {} ({}); {}", where(bad), weight_error(*weight, last_good), losses(bad),
                kAdvice);
  }
  if (const auto data = data_error(train, "training")) {
    throw_error(ExitCode::kDiverged, "{}: {}; {}; correct or remove that sample", where(bad), *data,
                weights_left(last_good));
  }
  const auto cause = std::isfinite(bad.loss) ? gradient_error(bad.gradients)
                                             : fmt::format("the loss is {}", format_shortest(bad.loss));
  throw_error(ExitCode::kDiverged, "{}: {} ({}); {}; {}", where(bad), cause, losses(bad), weights_left(last_good),
              kAdvice);
}

void require_finite(int64_t epoch, int64_t step, const std::vector<NamedTensor>& parameters,
                    const std::vector<NamedTensor>& optimizer_state) {
  const auto begin = fmt::format("training diverged at epoch {}, step {}", epoch, step);
  if (const auto weight = first_bad_tensor(parameters))
    throw_error(ExitCode::kDiverged, "{}: {}; {}", begin, weight_error(*weight, step), kAdvice);
  if (const auto tensor = first_bad_tensor(optimizer_state))
    throw_error(ExitCode::kDiverged, "{}: the optimiser's {} is not finite after the update of step {}; {}", begin,
                *tensor, step, kAdvice);
}

void throw_diverged_in_validation(int64_t epoch, int64_t step, double loss, const std::vector<NamedTensor>& parameters,
                                  const Samples& valid) {
  const auto begin = fmt::format("training diverged at the validation of epoch {}, after step {}", epoch, step);
  if (const auto weight = first_bad_tensor(parameters)) {
    throw_error(ExitCode::kDiverged, "{}: {}; {}", begin, weight_error(*weight, step), kAdvice);
  }
  if (const auto data = data_error(valid, "validation")) {
    throw_error(ExitCode::kDiverged, "{}: {}; correct or remove that sample", begin, *data);
  }
  throw_error(ExitCode::kDiverged, "{}: the loss is {}; {}", begin, format_shortest(loss), kAdvice);
}

double loss_of_zero_outputs(const Loss& loss, const Dataset& dataset) {
  if (loss.info().takes_classes()) return std::log(static_cast<double>(dataset.shape.num_outputs));
  const at::Tensor targets = target_rows(dataset.train).to(at::kFloat);
  double sum = 0, num_known = 0;
  for_rows_at_a_time(targets.size(0), [&](int64_t first, int64_t count) {
    const at::Tensor zeros = at::zeros({count, targets.size(1) * loss.numbers_per_target()});
    // A missing target is NaN, and so is its loss.
    const at::Tensor losses = loss.compute(zeros, targets.narrow(0, first, count), at::Reduction::None).to(at::kDouble);
    sum += losses.nansum().item<double>();
    num_known += losses.isnan().logical_not().sum().item<double>();
  });
  return sum / num_known;
}

std::optional<std::string> high_loss_warning(double train_loss, double of_zeros) {
  constexpr double kMostTimes = 10.0;
  if (!(train_loss > kMostTimes * of_zeros) || of_zeros <= 0) return std::nullopt;
  return fmt::format(
      "the training loss of the last epoch is {:.4g}, more than ten times the {:.4g} of outputs that are all 0; {}",
      train_loss, of_zeros, kAdvice);
}

std::optional<std::string> grown_loss_warning(double first_epoch, double last_epoch) {
  constexpr double kMostTimes = 3.0;
  if (first_epoch <= 0 || !(last_epoch > kMostTimes * first_epoch)) return std::nullopt;
  return fmt::format("training diverges: the training loss grew from {} in the first epoch to {} in the last; {}",
                     format_significant(first_epoch, 4), format_significant(last_epoch, 4), kAdvice);
}

}  // namespace rnnlab
