// SPDX-License-Identifier: Apache-2.0
#include "train/loop/step_record.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_foreach_clamp_max.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "base/error.h"
#include "layers/device/gpu_support.h"
#include "layers/device/run_kernels.h"
#include "train/loop/kernels/optimizer.h"

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
  RNNLAB_INVARIANT(row >= 0 && row < size(), "the step record must contain the row");
  return rows_[row][0].item<double>();
}

bool can_use_own_kernels(at::TensorList tensors) {
  if (tensors.empty()) return false;
  const at::Device device = tensors.front().device();
  const bool suit = std::ranges::all_of(tensors, [&](const at::Tensor& tensor) {
    return tensor.is_cuda() && tensor.device() == device && tensor.scalar_type() == at::kFloat &&
           tensor.is_non_overlapping_and_dense();
  });
  return suit && has_own_kernels(device);
}

namespace {

// The kernels' work on the norms of gradients, and the tensors that it refers to.
class NormsWork {
 public:
  // norms: (number of gradients) float32, which the kernels write.
  NormsWork(at::TensorList gradients, const at::Tensor& norms, const SummedGradients& summed) {
    for (const at::Tensor& one : gradients) tensors_.push_back({one.const_data_ptr<float>(), one.numel()});
    const bool has_parts = summed.norm_parts.defined();
    parts_ = has_parts ? summed.norm_parts : at::empty({kernels::num_norm_parts(tensors_)}, norms.options());
    work_ = {.tensors = tensors_,
             .parts = parts_.mutable_data_ptr<float>(),
             .norms = norms.mutable_data_ptr<float>(),
             .clock = summed.clock.defined() ? summed.clock.mutable_data_ptr<int64_t>() : nullptr,
             .has_parts = has_parts};
  }
  NormsWork(const NormsWork&) = delete;
  NormsWork& operator=(const NormsWork&) = delete;

  const kernels::Norms& work() const { return work_; }

 private:
  std::vector<kernels::NormTensor> tensors_;
  at::Tensor parts_;
  kernels::Norms work_;
};

}  // namespace

at::Tensor gradient_norms(at::TensorList gradients) {
  if (!can_use_own_kernels(gradients)) return at::stack(at::_foreach_norm(gradients, 2));
  const at::Tensor norms = at::empty({std::ssize(gradients)}, gradients.front().options().requires_grad(false));
  run_kernels(NormsWork(gradients, norms, {}).work(), norms);
  return norms;
}

at::Tensor clip_scale(const at::Tensor& norms, double max_norm) {
  const auto total = at::linalg_vector_norm(norms);
  constexpr double kNoDivisionByZero = 1e-6;
  return total.add_(kNoDivisionByZero).reciprocal_().mul_(max_norm).clamp_max_(1.0);
}

void clip_by_value(at::TensorList gradients, double limit) {
  at::_foreach_clamp_min_(gradients, -limit);
  at::_foreach_clamp_max_(gradients, limit);
}

namespace {

StepSummary summarize_with_own_kernels(at::TensorList gradients, const Evaluation& evaluation,
                                       const at::Tensor& skipped, at::Tensor& found_inf,
                                       const std::optional<double>& max_norm, const SummedGradients& summed) {
  const auto num_norms = std::ssize(gradients);
  const at::Tensor row = at::empty({kernels::kNumbersBeforeNorms + num_norms}, found_inf.options());
  const at::Tensor scale = max_norm ? at::empty({}, found_inf.options()) : at::Tensor();
  const NormsWork norms(gradients, row.narrow(0, kernels::kNumbersBeforeNorms, num_norms), summed);
  run_kernels(kernels::StepNumbers{.gradients = norms.work(),
                                   .loss = evaluation.loss.const_data_ptr<float>(),
                                   .weighted_loss = evaluation.weighted_loss.const_data_ptr<float>(),
                                   .metric_sum = evaluation.metric_sum.const_data_ptr<float>(),
                                   .skipped = skipped.defined() ? skipped.const_data_ptr<float>() : nullptr,
                                   .row = row.mutable_data_ptr<float>(),
                                   .found_inf = found_inf.mutable_data_ptr<float>(),
                                   .max_norm = static_cast<float>(max_norm.value_or(0.0)),
                                   .clip_scale = scale.defined() ? scale.mutable_data_ptr<float>() : nullptr},
              row);
  return {{row, evaluation.count}, scale};
}

// The operator was made for unscaling gradients. Here the operator checks the row of losses and norms, times one, with
// one small kernel.
void flag_non_finite(const at::Tensor& row, at::Tensor& found_inf) {
  at::_amp_foreach_non_finite_check_and_unscale_(row, found_inf, at::ones_like(found_inf));
}

}  // namespace

StepSummary summarize_step(at::TensorList gradients, const Evaluation& evaluation, const at::Tensor& skipped,
                           at::Tensor& found_inf, const std::optional<double>& max_norm,
                           const SummedGradients& summed) {
  const at::NoGradGuard no_grad;
  if (can_use_own_kernels(gradients))
    return summarize_with_own_kernels(gradients, evaluation, skipped, found_inf, max_norm, summed);
  const at::Tensor norms = gradient_norms(gradients);
  const at::Tensor none = at::zeros_like(found_inf);
  StepSummary summary;
  summary.step = skipped.defined() ? evaluated_step(evaluation, skipped, at::where(skipped.gt(0), none, norms))
                                   : evaluated_step(evaluation, none, norms);
  flag_non_finite(summary.step.row, found_inf);
  if (max_norm) summary.clip_scale = clip_scale(norms, *max_norm);
  return summary;
}

}  // namespace rnnlab
