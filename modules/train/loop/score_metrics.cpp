// SPDX-License-Identifier: Apache-2.0
#include "train/loop/score_metrics.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace rnnlab {
namespace {

bool is_asked_for(const MetricInfo& metric, const TrainingSettings& settings) {
  const std::string name(metric.name), column = "valid_" + name;
  return std::ranges::count(settings.metrics, name) > 0 || settings.early_stopping == column ||
         settings.stop_at.values.contains(column);
}

template <class T>
std::span<const T> span_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  return {tensor.const_data_ptr<T>(), static_cast<size_t>(tensor.numel())};
}

}  // namespace

std::vector<const MetricInfo*> asked_metrics(const TrainingSettings& settings) {
  std::vector<const MetricInfo*> asked = score_metrics();
  std::erase_if(asked, [&](const MetricInfo* metric) { return !is_asked_for(*metric, settings); });
  return asked;
}

std::vector<std::string> asked_columns(const TrainingSettings& settings) {
  std::vector<std::string> columns;
  for (const MetricInfo* metric : asked_metrics(settings)) columns.push_back("valid_" + std::string(metric->name));
  return columns;
}

at::Tensor output_rows(const at::Tensor& output, const Batch& batch, bool is_per_step) {
  const at::Tensor on_host = output.to(at::kCPU, at::kFloat);
  return is_per_step ? rows_within(on_host.transpose(0, 1), batch.lengths, TimeAxis::kSecond) : on_host;
}

ScoreMetrics::ScoreMetrics(std::vector<const MetricInfo*> metrics, Loss loss, FittedData data, const Samples& part,
                           std::vector<double> naive_errors)
    : metrics_(std::move(metrics)),
      loss_(std::move(loss)),
      data_(std::move(data)),
      task_(metric_task(loss_.kind(), data_.shape.task)),
      part_(part),
      naive_errors_(std::move(naive_errors)) {}

void ScoreMetrics::add(const at::Tensor& output, const Batch& batch) {
  outputs_.push_back(output_rows(output, batch, data_.shape.target_per_step));
}

std::vector<int64_t> ScoreMetrics::rows_of_batches(int64_t batch_size) const {
  std::vector<int64_t> rows((part_.size() + batch_size - 1) / batch_size);
  for (int64_t sample = 0; sample < part_.size(); ++sample)
    rows[sample / batch_size] += data_.shape.target_per_step ? part_.length(sample) : 1;
  return rows;
}

at::Tensor ScoreMetrics::own_outputs() const {
  return outputs_.empty() ? at::zeros({0, data_.shape.model_outputs()}) : at::cat(outputs_);
}

// Rank r has the batches r, r + size, r + 2 size and so on.
at::Tensor ScoreMetrics::outputs_of_all(int64_t batch_size, Ranks& ranks) const {
  const std::vector<int64_t> rows = rows_of_batches(batch_size);
  std::vector<int64_t> rows_of_rank(ranks.size());
  for (size_t batch = 0; batch < rows.size(); ++batch) rows_of_rank[batch % rows_of_rank.size()] += rows[batch];
  const at::Tensor own = own_outputs();
  const at::Tensor padded = at::zeros({std::ranges::max(rows_of_rank), own.size(1)});
  padded.narrow(0, 0, own.size(0)).copy_(own);
  const at::Tensor all = ranks.all_gather(padded);
  std::vector<at::Tensor> in_order;
  std::vector<int64_t> taken(ranks.size());
  for (size_t batch = 0; batch < rows.size(); ++batch) {
    const size_t rank = batch % taken.size();
    in_order.push_back(all[static_cast<int64_t>(rank)].narrow(0, taken[rank], rows[batch]));
    taken[rank] += rows[batch];
  }
  return at::cat(in_order);
}

MetricResult ScoreMetrics::compute(const MetricInfo& metric, const PartScores& scores) const {
  if (metric.suits(task_)) return std::get<OfScores>(metric.compute)(scores);
  return MetricResult::undefined(
      fmt::format("it is defined for {}, but the model predicts {}", metric.tasks_in_words(), config::name_of(task_)));
}

namespace {

MetricResults undefined_for_all(const std::vector<const MetricInfo*>& metrics, const std::string& reason) {
  MetricResults results;
  for (const MetricInfo* metric : metrics) results[std::string(metric->name)] = MetricResult::undefined(reason);
  return results;
}

}  // namespace

// outputs: (rows, model outputs) float32 of the whole part.
MetricResults ScoreMetrics::results_of(const at::Tensor& outputs) const {
  const bool are_numbers = task_ == MetricTask::kNumbers;
  const at::Tensor point =
      (are_numbers ? in_units_of_targets(loss_.point(outputs), data_, part_) : outputs.to(at::kDouble)).contiguous();
  const at::Tensor quantiles = quantiles_in_units(outputs, loss_, data_, part_);
  const at::Tensor rows = target_rows(part_).contiguous();
  const bool are_classes = !rows.is_floating_point();
  const at::Tensor targets =
      are_numbers ? in_units_of_targets(rows, data_, part_).contiguous() : rows.to(at::kDouble).contiguous();
  const PartScores scores{.task = task_,
                          .num_outputs = point.size(1),
                          .outputs = span_of<double>(point),
                          .classes = are_classes ? span_of<int64_t>(rows) : std::span<const int64_t>(),
                          .targets = are_classes ? std::span<const double>() : span_of<double>(targets),
                          .naive_errors = naive_errors_,
                          .levels = loss_.levels(),
                          .quantiles = span_of<double>(quantiles)};
  MetricResults results;
  for (const MetricInfo* metric : metrics_) results[std::string(metric->name)] = compute(*metric, scores);
  return results;
}

MetricResults ScoreMetrics::results(int64_t batch_size, Ranks& ranks) const {
  if (empty()) return {};
  const at::Tensor outputs = outputs_of_all(batch_size, ranks);
  if (!at::isfinite(outputs).all().item<bool>())
    return undefined_for_all(metrics_, "an output of the model is not finite");
  return results_of(outputs);
}

}  // namespace rnnlab
