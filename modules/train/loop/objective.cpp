// SPDX-License-Identifier: Apache-2.0
#include "train/loop/objective.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "layers/device/run_kernels.h"
#include "train/loop/kernels/loss.h"
#include "train/loop/profiling.h"

namespace rnnlab {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class LossOnGpu : public torch::autograd::Function<LossOnGpu> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& given_output,
                               const at::Tensor& given_targets, LossKind kind) {
    const at::Tensor output = given_output.contiguous(), targets = given_targets.contiguous();
    const at::Tensor loss = at::empty({}, output.options()), metric_sum = at::empty({}, output.options());
    const at::Tensor gradient = given_output.requires_grad() ? at::empty_like(output) : at::Tensor();
    info_of(kind).run_own_kernel(output, targets,
                                 {.gradient = gradient.defined() ? gradient.mutable_data_ptr<float>() : nullptr,
                                  .loss = loss.mutable_data_ptr<float>(),
                                  .metric_sum = metric_sum.mutable_data_ptr<float>()});
    context->mark_non_differentiable({metric_sum});
    context->save_for_backward({gradient});
    context->set_materialize_grads(false);  // metric_sum needs no gradient, so LibTorch need not make zeros for it
    return {loss, metric_sum};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (!gradients[0].defined()) return {at::Tensor(), at::Tensor(), at::Tensor()};
    const at::Tensor gradient = context->get_saved_variables()[0];
    const bool is_unscaled = gradients[0].is_same(unscaled_gradient(gradient.device()));
    return {is_unscaled ? gradient : gradient.mul(gradients[0]), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

const at::Tensor& unscaled_gradient(c10::Device device) {
  // The tensors are never freed, because CUDA may end before static objects do.
  static std::mutex mutex;
  static auto& all = *new std::unordered_map<c10::Device, at::Tensor>;
  const std::scoped_lock lock(mutex);
  at::Tensor& one = all[device];
  if (!one.defined()) one = at::ones({}, at::TensorOptions().dtype(at::kFloat).device(device));
  return one;
}

Evaluation evaluate_on_gpu(LossKind loss, const at::Tensor& output, const at::Tensor& targets) {
  const variable_list results = LossOnGpu::apply(output, targets, loss);
  return {results[0], results[0].detach(), results[1], targets.numel()};
}

namespace {

// The metric counts right answers, without weights.
Evaluation with_right_classes(const at::Tensor& loss, const at::Tensor& logits, const at::Tensor& classes,
                              int64_t count) {
  const at::NoGradGuard no_grad;
  return {loss, loss.detach(), logits.argmax(-1).eq(classes).sum(at::kFloat), count};
}

// `count` classes are not missing; weights may be undefined.
Evaluation weighted_loss_of_classes(const Loss& loss, const at::Tensor& logits, const at::Tensor& classes,
                                    const at::Tensor& weights, int64_t count) {
  RNNLAB_INVARIANT(loss.info().weighted_sum != nullptr, "the loss must leave out missing classes, and weigh classes");
  const at::Tensor sum = loss.info().weighted_sum(logits, classes, weights);
  return with_right_classes(sum.div(static_cast<double>(count)), logits, classes, count);
}

Evaluation loss_of_classes(const Loss& loss, const at::Tensor& logits, const at::Tensor& classes) {
  if (loss.info().run_own_kernel != nullptr && can_use_own_kernels(logits))
    return evaluate_on_gpu(loss.kind(), logits, classes);
  return with_right_classes(loss.compute(logits, classes, at::Reduction::Mean), logits, classes, classes.numel());
}

// LibTorch's losses are differentiable in the targets too.
bool suit_own_kernels(const at::Tensor& output, const at::Tensor& targets) {
  return can_use_own_kernels({output, targets}) && !targets.requires_grad();
}

// The functions below compute losses of numbers and of binary targets. Missing targets are NaN, and `count` targets are
// not missing.

// A value that is filled in for a missing target gets a loss, which the mask then replaces by 0, and its gradient too.
at::Tensor mean_of_known(const Loss& loss, const at::Tensor& output, const at::Tensor& targets, int64_t count) {
  const at::Tensor are_missing = targets.isnan();
  const at::Tensor losses = loss.compute(output, targets.masked_fill(are_missing, 0), at::Reduction::None);
  return losses.masked_fill(are_missing, 0).sum().div(static_cast<double>(count));
}

Evaluation with_right_answers(const at::Tensor& loss, const at::Tensor& logits, const at::Tensor& targets,
                              int64_t count) {
  const at::NoGradGuard no_grad;
  const at::Tensor are_right = logits.gt(0).eq(targets.ge(0.5)).logical_and_(targets.isnan().logical_not_());
  return {loss, loss.detach(), are_right.sum(at::kFloat), count};
}

// Errors are weighted by the units of their targets, if these differ (weights are undefined otherwise).
Evaluation with_errors(const at::Tensor& loss, LossKind kind, const at::Tensor& point, const at::Tensor& targets,
                       const at::Tensor& weights, int64_t count) {
  const at::NoGradGuard no_grad;
  at::Tensor errors = point.sub(targets).masked_fill_(targets.isnan(), 0);
  if (weights.defined()) errors.mul_(weights);
  const bool is_mean_square = kind == LossKind::kMse && !weights.defined();
  const at::Tensor mean_square = is_mean_square ? loss.detach() : errors.square().sum().div(static_cast<double>(count));
  return {loss, mean_square, errors.abs().sum(), count};
}

Evaluation elementwise_loss(const Loss& loss, const at::Tensor& output, const at::Tensor& targets,
                            const at::Tensor& weights, std::optional<int64_t> num_known) {
  const LossInfo& info = loss.info();
  if (info.run_own_kernel != nullptr && !num_known && !weights.defined() && suit_own_kernels(output, targets))
    return evaluate_on_gpu(loss.kind(), output, targets);
  const at::Tensor mean =
      num_known ? mean_of_known(loss, output, targets, *num_known) : loss.compute(output, targets, at::Reduction::Mean);
  const int64_t count = num_known.value_or(targets.numel());
  if (!info.measures_errors()) return with_right_answers(mean, output, targets, count);
  return with_errors(mean, loss.kind(), loss.point(output.detach()), targets, weights, count);
}

bool belong_together(const at::Tensor& output, const at::Tensor& targets, int64_t numbers_per_target) {
  return output.dim() == targets.dim() && output.size(-1) == targets.size(-1) * numbers_per_target &&
         output.sizes().slice(0, output.dim() - 1) == targets.sizes().slice(0, targets.dim() - 1);
}

ErrorUnits error_units(const std::vector<ColumnScale>& scales, c10::Device device) {
  if (scales.empty()) return {};
  double widest = 0.0;
  for (const auto& target : scales) widest = std::max(widest, target.scale);
  std::vector<double> weights;
  for (const auto& target : scales) weights.push_back(target.scale / widest);
  const bool all_equal = std::ranges::count(weights, 1.0) == std::ssize(weights);
  return {widest, all_equal ? at::Tensor() : at::tensor(weights, at::kFloat).to(device)};
}

}  // namespace

void add_row(const StepRow& row, Totals& totals) {
  totals.loss_sum += row.loss * static_cast<double>(row.count);
  totals.weighted_loss_sum += row.weighted_loss * static_cast<double>(row.count);
  totals.metric_sum += row.metric_sum;
  totals.count += row.count;
}

Objective::Objective(const TrainingSettings& settings, const FittedData& data, c10::Device device)
    : loss_(settings, data, device),
      task_(metric_task(loss_.kind(), data.shape.task)),
      error_units_(error_units(data.target_scales, device)) {}

at::Tensor Objective::error_weights(const Batch& batch) const {
  if (!batch.target_units.defined()) return error_units_.weights;
  return error_units_.weights.defined() ? batch.target_units * error_units_.weights : batch.target_units;
}

Evaluation Objective::evaluate(const at::Tensor& output, const Batch& batch) const {
  const TraceRange range("loss");
  const bool is_per_step = has_target_per_step(batch.targets);
  const auto values = (is_per_step ? rows_within(output, batch.lengths, TimeAxis::kFirst) : output).to(at::kFloat);
  const auto targets = is_per_step ? rows_within(batch.targets, batch.lengths, TimeAxis::kFirst) : batch.targets;
  const bool has_missing = batch.target_counts.defined();
  const int64_t count = has_missing ? batch.num_targets() : targets.numel();
  RNNLAB_INVARIANT(!has_missing || count > 0, "a batch has samples that have targets");
  const bool are_classes = loss_.info().takes_classes();
  if (are_classes && (has_missing || class_weights_.defined()))
    return weighted_loss_of_classes(loss_, values, targets, class_weights_, count);
  if (are_classes) return loss_of_classes(loss_, values, targets);
  RNNLAB_INVARIANT(belong_together(values, targets, loss_.numbers_per_target()),
                   "the output must have the rows of the targets, and its numbers for each target of a row");
  return elementwise_loss(loss_, values, targets, error_weights(batch),
                          has_missing ? std::optional(count) : std::nullopt);
}

MetricValues Objective::metrics(const Totals& totals) const { return metrics_of(totals, task_, error_units_.unit); }

at::Tensor balanced_class_weights(const Samples& samples, int64_t num_classes) {
  const at::Tensor classes = known_classes(samples);
  const at::Tensor counts = at::bincount(classes, {}, num_classes).to(at::kDouble);
  const at::Tensor weights = static_cast<double>(classes.numel()) / (counts * static_cast<double>(num_classes));
  return weights.masked_fill(counts.eq(0), 0).to(at::kFloat);
}

namespace {

class EvaluationMode {
 public:
  explicit EvaluationMode(Model& model) : model_(model), was_training_(model.is_training()) { model_.eval(); }
  ~EvaluationMode() { model_.train(was_training_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  Model& model_;
  bool was_training_;
};

void append(std::vector<StepRow> rows, std::vector<StepRow>& all) {
  all.insert(all.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
}

constexpr int64_t kNumColumns = 4;

at::Tensor table_of(const std::vector<StepRow>& rows, int64_t num_rows) {
  at::Tensor table = at::zeros({num_rows, kNumColumns}, at::kDouble);
  double* cell = table.mutable_data_ptr<double>();
  for (const StepRow& row : rows)
    for (const double value : {row.loss, row.weighted_loss, row.metric_sum, static_cast<double>(row.count)})
      *cell++ = value;
  return table;
}

StepRow row_of(const at::Tensor& table) {
  const double* cells = table.const_data_ptr<double>();
  return {.loss = cells[0], .weighted_loss = cells[1], .metric_sum = cells[2], .count = static_cast<int64_t>(cells[3])};
}

// Gathers the rows of all ranks; rank r has the rows of batches r, r + size, r + 2 size and so on. The result is in the
// order of the batches, and is the same on every rank and in one process.
std::vector<StepRow> rows_of_all(Ranks& ranks, const std::vector<StepRow>& own, int64_t num_batches) {
  const int64_t most = (num_batches + ranks.size() - 1) / ranks.size();
  const at::Tensor tables = ranks.all_gather(table_of(own, most));
  std::vector<StepRow> all;
  for (int64_t i = 0; i < num_batches; ++i) all.push_back(row_of(tables[i % ranks.size()][i / ranks.size()]));
  return all;
}

}  // namespace

BatchLoop::Work evaluation_work(Model& model, const Objective& objective, Precision precision, ScoreMetrics* scores) {
  return [&model, &objective, precision, scores](std::span<const Batch> batches, int64_t /*slot*/) {
    const TraceRange range("forward");
    const Batch& batch = batches.front();
    const at::NoGradGuard no_grad;
    const AutocastGuard autocast(precision, batch.inputs.device());
    const at::Tensor output = model.forward(batch);
    if (scores != nullptr && !scores->empty()) scores->add(output, batch);
    return evaluated_step(objective.evaluate(output, batch));
  };
}

Totals evaluate(Model& model, Batches& batches, BatchLoop& loop, c10::Device device, Ranks& ranks) {
  const EvaluationMode evaluation_mode(model);
  std::vector<StepRow> rows;
  StepRecord record(/*num_gradient_norms=*/0, device);
  batches.start_epoch(0);
  while (const auto step = loop.next()) {
    if (record.full()) append(record.take(), rows);
    record.append(step->rows, step->counts);
  }
  append(record.take(), rows);
  rows = rows_of_all(ranks, rows, batches.whole_batches_per_epoch());
  Totals totals;
  for (const StepRow& row : rows) add_row(row, totals);
  return totals;
}

}  // namespace rnnlab
