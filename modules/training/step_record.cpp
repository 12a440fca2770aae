#include "training/step_record.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"
#include "training/kernels/step_numbers.h"

namespace rnnlab {
namespace {

constexpr int64_t kFirstNorm = kernels::kNumbersBeforeNorms;

StepRow to_step_row(const float* values, int64_t num_columns, int64_t count) {
  return {.loss = values[0],
          .weighted_loss = values[1],
          .metric_sum = values[2],
          .skipped = values[3] != 0,
          .count = count,
          .gradient_norms = {values + kFirstNorm, values + num_columns}};
}

}  // namespace

StepRecord::StepRecord(int64_t num_gradient_norms, at::Device device, int64_t capacity)
    : capacity_(capacity),
      rows_(at::empty({capacity, kFirstNorm + num_gradient_norms},
                      at::TensorOptions().dtype(at::kFloat).device(device))) {}

EvaluatedStep evaluated_step(const Evaluation& evaluation, const at::Tensor& skipped,
                             const at::Tensor& gradient_norms) {
  const at::NoGradGuard no_grad;
  return {at::cat({evaluation.loss.detach().view(1), evaluation.weighted_loss.view(1), evaluation.metric_sum.view(1),
                   skipped.view(1), gradient_norms}),
          evaluation.count};
}

EvaluatedStep evaluated_step(const Evaluation& evaluation) {
  const auto options = evaluation.loss.options().requires_grad(false);
  return evaluated_step(evaluation, at::zeros({}, options), at::empty({0}, options));
}

void StepRecord::append(const at::Tensor& rows, const std::vector<int64_t>& counts) {
  RNNLAB_INVARIANT(rows.size(0) <= room(), "a step record must be taken before it is full");
  rows_.narrow(0, size(), rows.size(0)).copy_(rows);
  counts_.insert(counts_.end(), counts.begin(), counts.end());
}

std::vector<StepRow> StepRecord::take() {
  const auto host = rows_.narrow(0, 0, size()).to(at::kCPU);
  std::vector<StepRow> taken;
  taken.reserve(counts_.size());
  for (size_t i = 0; i < counts_.size(); ++i) {
    taken.push_back(
        to_step_row(host.const_data_ptr<float>() + static_cast<int64_t>(i) * rows_.size(1), rows_.size(1), counts_[i]));
  }
  counts_.clear();
  return taken;
}

double StepRecord::loss(int64_t row) const {
  RNNLAB_INVARIANT(row >= 0 && row < size(), "a row that the step record does not have");
  return rows_[row][0].item<double>();
}

}  // namespace rnnlab
