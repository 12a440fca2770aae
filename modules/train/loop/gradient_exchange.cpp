// SPDX-License-Identifier: Apache-2.0
#include "train/loop/gradient_exchange.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "layers/device/gpu_device.h"
#include "layers/device/run_kernels.h"
#include "train/loop/batch_loop.h"
#include "train/loop/cuda_functions.h"
#include "train/loop/device_rates.h"
#include "train/loop/kernels/optimizer.h"
#include "train/loop/profiling.h"

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

int64_t num_whole_targets(std::span<const Batch> batches) {
  int64_t sum = 0;
  for (const Batch& batch : batches) sum += batch.whole_targets;
  return sum;
}

// Sums all rows into the first, first neighbours, then sums of neighbours. The number of rows must be a power of two.
void sum_in_tree(const at::Tensor& rows) {
  for (int64_t distance = 1; distance < rows.size(0); distance *= 2)
    for (int64_t i = 0; i + distance < rows.size(0); i += 2 * distance) rows[i].add_(rows[i + distance]);
}

// Messages that are fetched need no kernels, so they can travel beside any work.
Pieces pieces_for(const ExchangeOptions& options) {
  if (!options.overlaps) return Pieces::kOne;
  return options.ranks->gives_sources() ? Pieces::kSeveralOfEachLayer : Pieces::kSeveral;
}

at::Tensor samples_of(const at::Tensor& tensor, int64_t dimension, int64_t begin, int64_t end) {
  return tensor.defined() ? tensor.slice(dimension, begin, end).contiguous() : tensor;
}

}  // namespace

GradientExchange::GradientExchange(const ExchangeOptions& options, std::vector<NamedTensor> parameters)
    : ranks_(options.ranks),
      num_shards_(options.ranks->one_each(options.shards).value()),
      num_own_shards_(num_shards_ / num_ranks()),
      parameters_(std::move(parameters)) {
  RNNLAB_INVARIANT(num_own_shards_ * num_ranks() == num_shards_,
                   "the number of ranks must divide the number of shards");
  const auto floats = parameters_.front().tensor.options().dtype(at::kFloat).requires_grad(false);
  own_request_on_device_ = at::zeros({}, floats);
  if (can_use_own_kernels(own_request_on_device_)) clock_ = ranks_->clock_of_waiting(floats);
  if (clock_.defined()) clock_stream_ = stream_from_pool(clock_.device(), kHighPriority);
  const int64_t tail = MessageTail::size_for(num_ranks());
  if (!options.shards) {
    pieces_.emplace(*ranks_, parameters_, tail, pieces_for(options), options.piece_bytes);
    return;
  }
  layout_ = layout_of(parameters_, tail, Pieces::kOne);
  messages_ = at::zeros({num_own_shards_, layout_.piece_sizes.front()}, floats);
  messages_of_all_ = ranks_->memory_for_all(messages_[0]).zero_();
  result_ = messages_of_all_[0];
}

Batch GradientExchange::shard_of(const Batch& batch, int64_t shard) const {
  if (num_own_shards_ == 1) return batch;
  const auto place = [&](int64_t number) { return batch.whole_size * number / num_shards_; };
  const int64_t first = place(first_shard()), begin = place(shard) - first, end = place(shard + 1) - first;
  return {.inputs = samples_of(batch.inputs, 1, begin, end),
          .targets = samples_of(batch.targets, has_target_per_step(batch.targets) ? 1 : 0, begin, end),
          .lengths = samples_of(batch.lengths, 0, begin, end),
          .size = end - begin,
          .whole_size = batch.whole_size,
          .whole_targets = batch.whole_targets,
          .target_counts = samples_of(batch.target_counts, 0, begin, end),
          .target_units = samples_of(batch.target_units, 0, begin, end)};
}

double GradientExchange::weight_of(const Batch& part, std::span<const Batch> batches) {
  return static_cast<double>(part.num_targets()) / static_cast<double>(num_whole_targets(batches));
}

at::Tensor GradientExchange::tail() const {
  return pieces_ ? pieces_->tail() : result_.narrow(0, layout_.tail_offset, MessageTail::size_for(num_ranks()));
}

void GradientExchange::request_stop(double reason) {
  if (reason != own_request_) own_request_on_device_.fill_(reason);
  own_request_ = reason;
}

std::optional<std::vector<double>> GradientExchange::stop_requests(double own) {
  return ranks_->numbers_of_step(own, [this] { return exchanged_requests(); });
}

std::optional<std::vector<double>> GradientExchange::exchanged_requests() {
  delayed_requests_.append(tail().narrow(0, MessageTail::kNumSums, num_ranks()));
  const auto requests = delayed_requests_.next([this](const auto& has_ended) { ranks_->wait_for(has_ended); });
  if (!requests) return std::nullopt;
  const float* values = requests->const_data_ptr<float>();
  return std::vector<double>(values, values + requests->numel());
}

void GradientExchange::begin_step() {
  if (pieces_) pieces_->begin_step();
}

void GradientExchange::end_step() {
  if (pieces_) pieces_->end_step();
}

void GradientExchange::set_sums(const Evaluation& sums, double factor) {
  MessageTail tail{.sums = sums,
                   .factor = factor,
                   .request = own_request_on_device_,
                   .rank = ranks_->rank(),
                   .num_ranks = num_ranks()};
  tail.sums.loss = sums.loss.detach();
  if (pieces_)
    pieces_->set_tail(std::move(tail));
  else
    tail_of_shard_ = std::move(tail);
}

void GradientExchange::begin_last_pass(bool is_only_pass) {
  if (pieces_) pieces_->begin_last_pass(is_only_pass);
}

void GradientExchange::store_shard(int64_t shard) {
  if (pieces_) return;  // which know when a gradient is written
  const at::NoGradGuard no_grad;
  const at::Tensor message = messages_[shard - first_shard()];
  GradientCopies copies;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& parameter = parameters_[i].tensor;
    append_copy(parameter, place_in(message, layout_.places[i].offset, parameter), copies);
  }
  MessageTail tail = std::exchange(tail_of_shard_, {});
  if (shard > first_shard()) tail.request = at::zeros_like(tail.request);  // a rank has one request for all its shards
  fill_message(copies, &tail, message.narrow(0, layout_.tail_offset, MessageTail::size_for(num_ranks())));
}

// The clock is read when the work that is queued on the current stream has ended. The stream itself does not wait for
// it.
void GradientExchange::read_clock() {
  if (!clock_.defined()) return;
  order_streams(current_stream(clock_.device()), *clock_stream_);
  const c10::StreamGuard guard(*clock_stream_);
  run_kernels(kernels::ReadClock{clock_.mutable_data_ptr<int64_t>()}, clock_);
}

void GradientExchange::sum_pieces() {
  pieces_->finish();
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].tensor.mutable_grad() = pieces_->gradient(i);
}

void GradientExchange::sum_shards() {
  sum_in_tree(messages_);
  queue_exchange();
  for (size_t i = 0; i < parameters_.size(); ++i)
    parameters_[i].tensor.mutable_grad() = place_in(result_, layout_.places[i].offset, parameters_[i].tensor);
}

// Sums the messages of all ranks, whatever they have.
void GradientExchange::queue_exchange() {
  if (pieces_) return pieces_->send_all();
  const auto began = std::chrono::steady_clock::now();
  ranks_->all_gather_into(messages_[0], messages_of_all_);
  seconds_ += seconds_since(began);
  sum_in_tree(messages_of_all_);
}

Evaluation GradientExchange::all_reduce(std::span<const Batch> batches) {
  const TraceRange range("exchange");
  const at::NoGradGuard no_grad;
  read_clock();
  if (pieces_)
    sum_pieces();
  else
    sum_shards();
  if (clock_.defined()) order_streams(*clock_stream_, current_stream(clock_.device()));
  const at::Tensor sums = tail();
  return {sums[0], sums[1], sums[2], num_whole_targets(batches)};
}

std::optional<double> GradientExchange::take_seconds() {
  const double seconds = pieces_ ? pieces_->take_seconds() : std::exchange(seconds_, 0);
  if (is_on_cpu()) return ranks_->of_several(seconds);
  if (!clock_.defined()) return std::nullopt;
  const auto now = clock_[1].item<int64_t>();
  constexpr double kNanosecond = 1e-9;
  return kNanosecond * static_cast<double>(now - std::exchange(clock_before_, now));
}

// Returns the median of a few runs, after a warm-up.
double GradientExchange::median_seconds(const std::function<void()>& run) {
  constexpr int kWarmup = 3, kTimed = 9;
  const c10::Device device = own_request_on_device_.device();
  std::vector<double> seconds;
  for (int i = 0; i < kWarmup + kTimed; ++i) {
    ranks_->wait_for(device);
    const auto began = std::chrono::steady_clock::now();
    run();
    ranks_->wait_for(device);
    if (i >= kWarmup) seconds.push_back(seconds_since(began));
  }
  std::ranges::nth_element(seconds, seconds.begin() + kTimed / 2);
  return seconds[kTimed / 2];
}

// On a GPU the exchanges are captured, as those of steps are, because the host takes longer to start one than it takes.
double GradientExchange::seconds_alone(const std::function<void()>& queue) {
  constexpr int kInGraph = 8;
  const c10::Device device = own_request_on_device_.device();
  if (device.is_cpu()) return median_seconds(queue);

  ranks_->wait_for(device);  // the messages were allocated on another stream
  const c10::OptionalStreamGuard stream(graph_stream(device));
  for (int i = 0; i < CapturedWork::kWarmupRuns; ++i) queue();
  ranks_->wait_for(device);
  const auto graph = make_captured_work(device);
  bool is_captured = true;
  try {
    graph->capture_without_warmup([&] {
      for (int i = 0; i < kInGraph; ++i) queue();
    });
  } catch (const UserError&) {
    is_captured = false;
  }
  if (!ranks_->is_true_on_all(is_captured)) return median_seconds(queue);
  return median_seconds([&] { graph->replay(); }) / kInGraph;
}

GradientExchange::Alone GradientExchange::measure() {
  const at::NoGradGuard no_grad;
  Alone alone;
  alone.seconds = alone.seconds_of_last = seconds_alone([this] { queue_exchange(); });
  alone.num_bytes = pieces_ ? pieces_->num_bytes() : static_cast<int64_t>(result_.nbytes());
  if (!pieces_ || pieces_->num_pieces() == 1) return alone;
  alone.num_pieces = pieces_->num_pieces();
  alone.seconds_of_last = seconds_alone([this] { pieces_->send_last(); });
  return alone;
}

}  // namespace rnnlab
