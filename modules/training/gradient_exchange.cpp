#include "training/gradient_exchange.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "training/trace_range.h"

namespace rnnlab {
namespace {

constexpr int64_t kNumSums = 3;  // loss, weighted loss, metric

int64_t num_whole_samples(std::span<const Batch> batches) {
  int64_t sum = 0;
  for (const Batch& batch : batches) sum += batch.whole_size;
  return sum;
}

}  // namespace

GradientExchange::GradientExchange(Ranks& ranks, std::vector<NamedTensor> parameters, int64_t targets_per_sample)
    : ranks_(ranks), parameters_(std::move(parameters)), targets_per_sample_(targets_per_sample) {
  int64_t offset = 0;
  for (const NamedTensor& parameter : parameters_) {
    offsets_.push_back(offset);
    offset += parameter.tensor.numel();
  }
  offsets_.push_back(offset);
  const auto options = parameters_.front().tensor.options().dtype(at::kFloat).requires_grad(false);
  message_ = at::zeros({offset + kNumSums + ranks_.size()}, options);
}

double GradientExchange::share_of(const Batch& batch, std::span<const Batch> batches) {
  return static_cast<double>(batch.size) / static_cast<double>(num_whole_samples(batches));
}

std::vector<double> GradientExchange::stop_requests() const {
  const at::Tensor requests = message_.narrow(0, offsets_.back() + kNumSums, ranks_.size()).to(at::kCPU);
  const float* values = requests.const_data_ptr<float>();
  return {values, values + requests.numel()};
}

at::Tensor GradientExchange::slice(size_t parameter) const {
  const at::Tensor& tensor = parameters_[parameter].tensor;
  return message_.narrow(0, offsets_[parameter], tensor.numel()).view(tensor.sizes());
}

Evaluation GradientExchange::add_up(const Evaluation& own, std::span<const Batch> batches) {
  const TraceRange range("exchange");
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& gradient = parameters_[i].tensor.grad();
    if (gradient.defined())
      slice(i).copy_(gradient);
    else
      slice(i).zero_();
  }
  const at::Tensor sums = message_.narrow(0, offsets_.back(), kNumSums);
  sums[0].copy_(own.loss);
  sums[1].copy_(own.weighted_loss);
  sums[2].copy_(own.metric_sum);
  const at::Tensor requests = message_.narrow(0, offsets_.back() + kNumSums, ranks_.size());
  requests.zero_();
  requests[ranks_.rank()].fill_(own_request_);
  ranks_.add_up(message_);
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].tensor.mutable_grad() = slice(i);
  return {sums[0], sums[1], sums[2], num_whole_samples(batches) * targets_per_sample_};
}

}  // namespace rnnlab
