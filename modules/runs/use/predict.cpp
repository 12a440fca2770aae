// SPDX-License-Identifier: Apache-2.0
#include "runs/use/predict.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include "base/error.h"
#include "data/csv_part.h"
#include "train/loop/losses.h"
#include "train/loop/score_metrics.h"

namespace rnnlab {
namespace {

// Batches need targets, but predictions do not use them.
Samples with_some_targets(Samples samples) {
  samples.targets = at::zeros({samples.size()}, at::kLong);
  return samples;
}

at::Tensor output_of(const TrainedModel& trained, const Batch& batch) {
  const at::NoGradGuard no_grad;
  const AutocastGuard autocast(trained.experiment.precision, trained.device);
  return output_rows(trained.model->forward(batch), batch, trained.data.shape.target_per_step);
}

at::Tensor outputs_of_all(const TrainedModel& trained, Batches& batches) {
  std::vector<at::Tensor> outputs;
  batches.start_epoch(0);
  while (const auto batch = batches.next()) outputs.push_back(output_of(trained, *batch));
  return at::cat(outputs).contiguous();
}

PassTimes compute_outputs(at::Tensor& raw, const TrainedModel& trained, const Samples& samples, int64_t num_passes) {
  auto batches = make_valid_batches(with_some_targets(samples), trained.options());
  RNNLAB_INVARIANT(batches, "there are no samples to predict");
  for (const int64_t batch : untimed_batches(*batches)) {
    batches->start_epoch(0, batch);
    output_of(trained, batches->next().value());
  }
  return time_passes(trained.device, samples.size(), num_passes, [&] { raw = outputs_of_all(trained, *batches); });
}

PredictionKind kind_of(LossKind loss) {
  switch (info_of(loss).targets) {
    case LossTargets::kClasses:
      return PredictionKind::kClasses;
    case LossTargets::kBinary:
      return PredictionKind::kProbabilities;
    case LossTargets::kNumbers:
      return PredictionKind::kValues;
  }
  fail_invariant("listed targets", __FILE__, __LINE__, "no prediction is known for the targets of the loss");
}

at::Tensor meaning(const at::Tensor& raw, PredictionKind kind, const Loss& loss, const FittedData& data,
                   const Samples& samples) {
  if (kind == PredictionKind::kClasses) return at::softmax(raw.to(at::kDouble), 1);
  if (kind == PredictionKind::kProbabilities) return at::sigmoid(raw.to(at::kDouble));
  return in_units_of_targets(loss.point(raw), data, samples);
}

std::vector<std::string> output_names(const TrainedModel& trained, PredictionKind kind) {
  const auto count = static_cast<size_t>(trained.data.shape.num_outputs);
  const bool is_table = info_of(trained.experiment.data.source).form == DataForm::kTable;
  const bool has_columns = is_table && kind != PredictionKind::kClasses;
  std::vector<std::string> names = has_columns ? target_names(trained.experiment.data) : trained.data.vocabulary;
  if (names.size() == count) return names;
  names.clear();
  for (size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

}  // namespace

Predictions predictions_of(const TrainedModel& trained, const at::Tensor& raw, const Samples& samples) {
  const Loss loss(trained.experiment.training, trained.data, at::kCPU);
  Predictions predictions;
  predictions.kind = kind_of(loss.kind());
  predictions.names = output_names(trained, predictions.kind);
  if (trained.data.shape.target_per_step) predictions.row = "step";
  if (predictions.kind == PredictionKind::kValues) predictions.scales = trained.data.target_scales;
  predictions.raw = raw;
  predictions.values = meaning(raw, predictions.kind, loss, trained.data, samples).contiguous();
  predictions.levels = loss.levels();
  predictions.quantiles = quantiles_in_units(raw, loss, trained.data, samples);
  return predictions;
}

Predictions predict(const TrainedModel& trained, const Samples& samples, int64_t num_passes) {
  RNNLAB_INVARIANT(trained.data.shape.task != Task::kLanguageModel, "predict() does not support language models");
  at::Tensor raw;
  const PassTimes times = compute_outputs(raw, trained, samples, num_passes);
  Predictions predictions = predictions_of(trained, raw, samples);
  predictions.times = times;
  if (!samples.targets.defined()) return predictions;
  const bool is_class = predictions.kind == PredictionKind::kClasses;
  const at::Tensor targets = target_rows(samples);
  predictions.targets =
      is_class ? targets.contiguous() : in_units_of_targets(targets, trained.data, samples).contiguous();
  return predictions;
}

}  // namespace rnnlab
