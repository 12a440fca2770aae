#include "training/gradient_exchange.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <chrono>
#include <utility>

#include "base/error.h"
#include "training/trace_range.h"

namespace rnnlab {
namespace {

constexpr int64_t kNumSums = 3;  // loss, weighted loss, metric

int64_t num_whole_samples(std::span<const Batch> batches) {
  int64_t sum = 0;
  for (const Batch& batch : batches) sum += batch.whole_size;
  return sum;
}

// The first row becomes the sum of all, whose number is a power of two: neighbours first, then sums of neighbours.
void add_up_in_tree(const at::Tensor& rows) {
  for (int64_t distance = 1; distance < rows.size(0); distance *= 2)
    for (int64_t i = 0; i + distance < rows.size(0); i += 2 * distance) rows[i].add_(rows[i + distance]);
}

double elapsed_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

at::Tensor samples_of(const at::Tensor& tensor, int64_t dimension, int64_t begin, int64_t end) {
  return tensor.defined() ? tensor.slice(dimension, begin, end).contiguous() : tensor;
}

}  // namespace

GradientExchange::GradientExchange(Ranks* ranks, std::optional<int64_t> shards, std::vector<NamedTensor> parameters,
                                   int64_t targets_per_sample)
    : ranks_(ranks),
      is_ordered_(shards.has_value()),
      num_shards_(shards.value_or(num_ranks())),
      num_own_shards_(num_shards_ / num_ranks()),
      parameters_(std::move(parameters)),
      targets_per_sample_(targets_per_sample) {
  RNNLAB_INVARIANT(num_own_shards_ * num_ranks() == num_shards_, "shards that the ranks do not divide");
  int64_t offset = 0;
  for (const NamedTensor& parameter : parameters_) {
    offsets_.push_back(offset);
    offset += parameter.tensor.numel();
  }
  offsets_.push_back(offset);
  const auto options = parameters_.front().tensor.options().dtype(at::kFloat).requires_grad(false);
  messages_ = at::zeros({num_own_shards_, offset + kNumSums + num_ranks()}, options);
}

Batch GradientExchange::shard_of(const Batch& batch, int64_t shard) const {
  if (num_own_shards_ == 1) return batch;
  const auto place = [&](int64_t number) { return batch.whole_size * number / num_shards_; };
  const int64_t first = place(first_shard()), begin = place(shard) - first, end = place(shard + 1) - first;
  const bool has_target_per_step = batch.targets.dim() == 2 && batch.targets.scalar_type() == at::kLong;
  return {.inputs = samples_of(batch.inputs, 1, begin, end),
          .targets = samples_of(batch.targets, has_target_per_step ? 1 : 0, begin, end),
          .lengths = samples_of(batch.lengths, 0, begin, end),
          .size = end - begin,
          .whole_size = batch.whole_size};
}

double GradientExchange::share_of(int64_t num_samples, std::span<const Batch> batches) {
  return static_cast<double>(num_samples) / static_cast<double>(num_whole_samples(batches));
}

at::Tensor GradientExchange::slice(const at::Tensor& message, size_t parameter) const {
  const at::Tensor& tensor = parameters_[parameter].tensor;
  return message.narrow(0, offsets_[parameter], tensor.numel()).view(tensor.sizes());
}

at::Tensor GradientExchange::sums_of(const at::Tensor& message) const {
  return message.narrow(0, offsets_.back(), kNumSums);
}

at::Tensor GradientExchange::requests_of(const at::Tensor& message) const {
  return message.narrow(0, offsets_.back() + kNumSums, num_ranks());
}

std::vector<double> GradientExchange::stop_requests() const {
  const at::Tensor requests = requests_of(result_).to(at::kCPU);
  const float* values = requests.const_data_ptr<float>();
  return {values, values + requests.numel()};
}

void GradientExchange::take(int64_t shard, const Evaluation& sums) {
  const at::NoGradGuard no_grad;
  const at::Tensor message = messages_[shard - first_shard()];
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& gradient = parameters_[i].tensor.grad();
    if (gradient.defined())
      slice(message, i).copy_(gradient);
    else
      slice(message, i).zero_();
  }
  const at::Tensor three = sums_of(message);
  three[0].copy_(sums.loss);
  three[1].copy_(sums.weighted_loss);
  three[2].copy_(sums.metric_sum);
  requests_of(message).zero_();
}

void GradientExchange::add_up_over_ranks() {
  const auto began = std::chrono::steady_clock::now();
  if (is_ordered_) {
    const at::Tensor all = ranks_->gather(result_);
    seconds_ += elapsed_since(began);
    add_up_in_tree(all);
    result_ = all[0];
  } else {
    ranks_->add_up(result_);
    seconds_ += elapsed_since(began);
  }
}

std::optional<double> GradientExchange::take_seconds() {
  const double seconds = std::exchange(seconds_, 0);
  return is_timed() ? std::optional(seconds) : std::nullopt;
}

Evaluation GradientExchange::add_up(std::span<const Batch> batches) {
  const TraceRange range("exchange");
  const at::NoGradGuard no_grad;
  requests_of(messages_[0])[rank()].fill_(own_request_);
  add_up_in_tree(messages_);
  result_ = messages_[0];
  if (ranks_ != nullptr) add_up_over_ranks();
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].tensor.mutable_grad() = slice(result_, i);
  const at::Tensor sums = sums_of(result_);
  return {sums[0], sums[1], sums[2], num_whole_samples(batches) * targets_per_sample_};
}

}  // namespace rnnlab
