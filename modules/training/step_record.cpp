#include "training/step_record.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include "base/error.h"

namespace rnnlab {
namespace {

constexpr int64_t kFirstNorm = 3;

StepRow to_step_row(const float* values, int64_t num_columns, int64_t count) {
  return {.loss = values[0],
          .weighted_loss = values[1],
          .metric_sum = values[2],
          .count = count,
          .gradient_norms = {values + kFirstNorm, values + num_columns}};
}

}  // namespace

StepRecord::StepRecord(int64_t num_gradient_norms, at::Device device, int64_t capacity)
    : capacity_(capacity),
      rows_(at::empty({capacity, kFirstNorm + num_gradient_norms},
                      at::TensorOptions().dtype(at::kFloat).device(device))) {}

at::Tensor StepRecord::append(const Evaluation& evaluation, const std::vector<at::Tensor>& gradient_norms) {
  RNNLAB_INVARIANT(!full(), "a step record must be taken before it is full");
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> scalars;
  scalars.reserve(gradient_norms.size() + kFirstNorm);
  scalars.push_back(evaluation.loss.detach());
  scalars.push_back(evaluation.weighted_loss);
  scalars.push_back(evaluation.metric_sum);
  scalars.insert(scalars.end(), gradient_norms.begin(), gradient_norms.end());
  auto row = rows_[size()];
  at::stack_out(row, scalars);
  counts_.push_back(evaluation.count);
  return row;
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

double StepRecord::latest_loss() const { return rows_[size() - 1][0].item<double>(); }

}  // namespace rnnlab
