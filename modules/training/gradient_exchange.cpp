// SPDX-License-Identifier: Apache-2.0
#include "training/gradient_exchange.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "training/profiling.h"

namespace rnnlab {

void DelayedValues::append(const at::Tensor& values) {
  if (values.is_cpu()) {
    copies_.push_back({values.clone(), std::nullopt});
    return;
  }
  const at::Tensor on_host = at::empty(values.sizes(), values.options().device(at::kCPU).pinned_memory(true));
  on_host.copy_(values, /*non_blocking=*/true);
  c10::Event written(values.device().type());
  written.record(c10::impl::VirtualGuardImpl(values.device().type()).getStream(values.device()));
  copies_.push_back({on_host, std::move(written)});
}

std::optional<at::Tensor> DelayedValues::next(const WaitUntil& wait_until) {
  const size_t most_left = !copies_.empty() && copies_.front().written ? kStepsBehind : 0;
  if (copies_.size() <= most_left) return std::nullopt;
  const Copy copy = std::move(copies_.front());
  copies_.pop_front();
  if (copy.written) wait_until([&] { return copy.written->query(); });
  return copy.on_host;
}

namespace {

constexpr int64_t kNumSums = 3;  // loss, weighted loss, metric

int64_t num_whole_samples(std::span<const Batch> batches) {
  int64_t sum = 0;
  for (const Batch& batch : batches) sum += batch.whole_size;
  return sum;
}

// Sums all rows into the first, first neighbours, then sums of neighbours. The number of rows must be a power of two.
void sum_in_tree(const at::Tensor& rows) {
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
  RNNLAB_INVARIANT(num_own_shards_ * num_ranks() == num_shards_,
                   "the number of ranks must divide the number of shards");
  int64_t offset = 0;
  for (const NamedTensor& parameter : parameters_) {
    offsets_.push_back(offset);
    offset += parameter.tensor.numel();
  }
  offsets_.push_back(offset);
  const auto options = parameters_.front().tensor.options().dtype(at::kFloat).requires_grad(false);
  const int64_t length = offset + kNumSums + num_ranks();
  messages_ = at::zeros({num_own_shards_, length}, options);
  if (ranks_ != nullptr && is_ordered_) messages_of_all_ = at::zeros({num_ranks(), length}, options);
  result_ = (messages_of_all_.defined() ? messages_of_all_ : messages_)[0];
  own_request_on_device_ = at::zeros({}, options);
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

double GradientExchange::weight_of(int64_t num_samples, std::span<const Batch> batches) {
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

void GradientExchange::request_stop(double reason) {
  if (reason != own_request_) own_request_on_device_.fill_(reason);
  own_request_ = reason;
}

std::optional<std::vector<double>> GradientExchange::stop_requests() {
  delayed_requests_.append(requests_of(result_));
  const auto requests = delayed_requests_.next([this](const auto& has_ended) { ranks_->wait_for(has_ended); });
  if (!requests) return std::nullopt;
  const float* values = requests->const_data_ptr<float>();
  return std::vector<double>(values, values + requests->numel());
}

void GradientExchange::store_shard(int64_t shard, const Evaluation& sums) {
  const at::NoGradGuard no_grad;
  const at::Tensor message = messages_[shard - first_shard()];
  std::vector<at::Tensor> places, gradients;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& gradient = parameters_[i].tensor.grad();
    if (!gradient.defined()) {
      slice(message, i).zero_();
      continue;
    }
    places.push_back(slice(message, i));
    gradients.push_back(gradient);
  }
  if (!places.empty()) at::_foreach_copy_(places, gradients);
  sums_of(message).copy_(at::stack({sums.loss, sums.weighted_loss, sums.metric_sum}));
  requests_of(message).zero_();
}

void GradientExchange::reduce_over_ranks() {
  const auto began = std::chrono::steady_clock::now();
  if (is_ordered_)
    ranks_->all_gather_into(messages_[0], messages_of_all_);
  else
    ranks_->all_reduce(result_);
  seconds_ += elapsed_since(began);
  if (is_ordered_) sum_in_tree(messages_of_all_);
}

std::optional<double> GradientExchange::take_seconds() {
  const double seconds = std::exchange(seconds_, 0);
  return is_timed() ? std::optional(seconds) : std::nullopt;
}

double GradientExchange::measure() {
  constexpr int kWarmup = 3, kTimed = 9;
  const auto seconds_of_one = [&] {
    ranks_->wait_for(result_.device());
    const auto began = std::chrono::steady_clock::now();
    reduce_over_ranks();
    ranks_->wait_for(result_.device());
    return elapsed_since(began);
  };
  for (int i = 0; i < kWarmup; ++i) seconds_of_one();
  std::vector<double> seconds;
  for (int i = 0; i < kTimed; ++i) seconds.push_back(seconds_of_one());
  std::ranges::nth_element(seconds, seconds.begin() + kTimed / 2);
  return seconds[kTimed / 2];
}

Evaluation GradientExchange::all_reduce(std::span<const Batch> batches) {
  const TraceRange range("exchange");
  const at::NoGradGuard no_grad;
  requests_of(messages_[0])[rank()].copy_(own_request_on_device_);
  sum_in_tree(messages_);
  if (ranks_ != nullptr) reduce_over_ranks();
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].tensor.mutable_grad() = slice(result_, i);
  const at::Tensor sums = sums_of(result_);
  return {sums[0], sums[1], sums[2], num_whole_samples(batches) * targets_per_sample_};
}

}  // namespace rnnlab
