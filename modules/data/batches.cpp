// SPDX-License-Identifier: Apache-2.0
#include "data/batches.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "data/batch_sources.h"

namespace rnnlab {
namespace {

// Adds the time from its construction to its destruction to `seconds`.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  Clock::time_point start_ = Clock::now();
};

int64_t count_batches(int64_t num_samples, const BatchOptions& options) {
  RNNLAB_INVARIANT(options.batch_size > 0, "a batch of no samples");
  const int64_t full = num_samples / options.batch_size;
  const int64_t batches = full + (options.tail == TailPolicy::kKeep && num_samples % options.batch_size != 0 ? 1 : 0);
  if (batches == 0 && num_samples > 0) {
    throw_error(ExitCode::kUsage,
                "a batch takes {}, but there are only {}, and an incomplete batch is dropped: "
                "choose a batch size of at most {}{}",
                counted(options.batch_size, "sample"), num_samples, num_samples,
                options.order == Order::kStreams ? "" : " or set training.drop_last: false");
  }
  return batches;
}

// The device "cuda" without an index is the current GPU.
c10::Device with_index(c10::Device device) {
  if (device.is_cpu() || device.has_index()) return device;
  return c10::impl::VirtualGuardImpl(device.type()).getDevice();
}

int64_t free_bytes(c10::Device device) {
  return static_cast<int64_t>(c10::getDeviceAllocator(device.type())->getMemoryInfo(device.index()).first);
}

// Returns the range [begin, end) of this process's samples in a batch of `batch_size` samples.
std::pair<int64_t, int64_t> part_of(int64_t batch_size, const BatchShare& share) {
  return {batch_size * share.index / share.count, batch_size * (share.index + 1) / share.count};
}

// Returns how many samples of a batch of `batch_size` samples belong to this process, which has all or a part of them.
int64_t own_size_of(int64_t batch_size, const BatchShare& share) {
  if (share.kind == BatchShare::Kind::kWholeBatches) return batch_size;
  const auto [begin, end] = part_of(batch_size, share);
  return end - begin;
}

int64_t own_batch_size(int64_t batch_size, const BatchShare& share) {
  if (const int64_t size = own_size_of(batch_size, share); size > 0) return size;
  throw_error(ExitCode::kUsage,
              "training.batch_size: {} cannot be divided among {} processes: use a batch size of at "
              "least {}",
              counted(batch_size, "sample"), share.count, share.count);
}

int64_t count_own_batches(int64_t num_batches, const BatchShare& share) {
  const bool has_part_of_each = share.kind == BatchShare::Kind::kPartOfEach;
  return has_part_of_each ? num_batches : (num_batches - share.index + share.count - 1) / share.count;
}

std::unique_ptr<BatchSource> make_source(const Samples& samples, Placement placement, c10::Device device) {
  if (placement == Placement::kHost) return make_prefetched_source(samples, device);
  if (device.is_cpu()) return make_direct_source(samples);
  return make_resident_source(samples, device);
}

}  // namespace

int64_t EpochPlan::size(int64_t batch) const {
  return batch + 1 < num_batches ? batch_size : order.numel() - batch * batch_size;
}

std::span<const int64_t> EpochPlan::samples(int64_t batch) const {
  return {order.const_data_ptr<int64_t>() + batch * batch_size, static_cast<size_t>(size(batch))};
}

Placement choose_placement(const Samples& samples, Placement wanted, c10::Device device) {
  RNNLAB_INVARIANT(!samples.mapped || wanted != Placement::kDevice, "the check of settings refuses it");
  if (samples.mapped) return Placement::kHost;
  if (wanted == Placement::kHost) return wanted;
  if (device.is_cpu()) return Placement::kDevice;
  const int64_t free = free_bytes(with_index(device));
  if (wanted == Placement::kAutomatic) return samples.bytes() <= free / 2 ? Placement::kDevice : Placement::kHost;
  if (samples.bytes() <= free) return Placement::kDevice;
  throw_error(ExitCode::kDevice,
              "data.placement is 'device', but the samples take {} and {} has {} free: use 'auto' or 'host', or fewer "
              "samples by data.num_train",
              format_bytes(samples.bytes()), device.str(), format_bytes(free));
}

Batches::Batches(const Samples& samples, const BatchOptions& options, c10::Device device)
    : num_samples_(samples.size()),
      lengths_(samples.lengths),
      targets_of_sample_(num_samples_ == 0 ? 0 : samples.targets.numel() / num_samples_),
      options_(options),
      num_whole_batches_(count_batches(num_samples_, options)),
      num_batches_(count_own_batches(num_whole_batches_, options.share)),
      placement_(choose_placement(samples, options.placement, device)),
      source_(make_source(samples, placement_, with_index(device))) {
  RNNLAB_INVARIANT(options.order != Order::kStreams || options.tail == TailPolicy::kDrop,
                   "streams of samples have equal lengths");
  if (num_samples_ == 0) return;
  target_counts_ = rnnlab::target_counts(samples);
  has_missing_targets_ = target_counts_.defined();
  if (has_missing_targets_ || !lengths_.defined() || !has_target_per_step(samples.targets)) return;
  target_counts_ = lengths_.mul(targets_of_sample_ / std::max<int64_t>(1, samples.targets.size(1)));
}

Batches::~Batches() = default;
Batches::Batches(Batches&&) noexcept = default;
Batches& Batches::operator=(Batches&&) noexcept = default;

int64_t Batches::full_batches_left() const {
  const int64_t own_full = count_own_batches(num_samples_ / options_.batch_size, options_.share);
  return std::max<int64_t>(0, own_full - next_batch_);
}

int64_t Batches::samples_per_epoch() const { return std::min(num_samples_, num_whole_batches_ * options_.batch_size); }

int64_t Batches::whole_number(int64_t batch) const {
  const BatchShare& share = options_.share;
  const bool has_part_of_each = share.kind == BatchShare::Kind::kPartOfEach;
  return has_part_of_each ? batch : batch * share.count + share.index;
}

int64_t Batches::whole_size(int64_t batch) const {
  return std::min(options_.batch_size, samples_per_epoch() - whole_number(batch) * options_.batch_size);
}

int64_t Batches::whole_targets(int64_t batch) const {
  if (!target_counts_.defined()) return whole_size(batch) * targets_of_sample_;
  return order_.whole_targets[static_cast<size_t>(whole_number(batch))];
}

// `order` is that of all processes.
std::vector<int64_t> Batches::targets_of_whole_batches(const at::Tensor& order) const {
  std::vector<int64_t> targets;
  if (!target_counts_.defined()) return targets;
  for (const at::Tensor& batch : order.split(options_.batch_size))
    targets.push_back(target_counts_.index_select(0, batch).sum().item<int64_t>());
  return targets;
}

// Returns this process's samples of an order of all processes, batch after batch.
at::Tensor Batches::own_share(const at::Tensor& order) const {
  if (options_.share.is_all()) return order;
  const bool has_part_of_each = options_.share.kind == BatchShare::Kind::kPartOfEach;
  std::vector<at::Tensor> parts;
  const std::vector<at::Tensor> batches = order.split(options_.batch_size);
  for (int64_t i = 0; i < std::ssize(batches); ++i) {
    const at::Tensor& batch = batches[static_cast<size_t>(i)];
    const auto [begin, end] = part_of(batch.numel(), options_.share);
    if (has_part_of_each) parts.push_back(batch.slice(0, begin, end));
    if (!has_part_of_each && i % options_.share.count == options_.share.index) parts.push_back(batch);
  }
  return parts.empty() ? order.narrow(0, 0, 0) : at::cat(parts);
}

at::Tensor Batches::order(int64_t epoch) const {
  if (options_.order == Order::kStreams)
    return at::arange(samples_per_epoch(), at::kLong).view({options_.batch_size, num_whole_batches_}).t().flatten();
  const at::Tensor all = options_.order == Order::kSequential ? at::arange(num_samples_, at::kLong)
                                                              : permutation(num_samples_, options_.seed, epoch);
  const at::Tensor kept = all.narrow(0, 0, samples_per_epoch());
  return options_.order == Order::kByLength && lengths_.defined() ? sorted_by_length(kept, epoch) : kept;
}

// A last batch that is not full stays the last.
at::Tensor Batches::sorted_by_length(const at::Tensor& order, int64_t epoch) const {
  constexpr int64_t kBatchesOfPool = 64;
  std::vector<at::Tensor> full, rest;
  for (const at::Tensor& pool : order.split(kBatchesOfPool * options_.batch_size)) {
    const at::Tensor by_length = lengths_.index_select(0, pool).argsort(/*stable=*/true, 0, /*descending=*/false);
    for (const at::Tensor& batch : pool.index_select(0, by_length).split(options_.batch_size))
      (batch.numel() == options_.batch_size ? full : rest).push_back(batch);
  }
  const at::Tensor turns = permutation(std::ssize(full), options_.seed + 1, epoch);
  std::vector<at::Tensor> batches;
  for (int64_t i = 0; i < turns.numel(); ++i)
    batches.push_back(full[static_cast<size_t>(turns.const_data_ptr<int64_t>()[i])]);
  batches.insert(batches.end(), rest.begin(), rest.end());
  return batches.empty() ? order : at::cat(batches);
}

Batches::EpochOrder Batches::make_order(int64_t epoch) const {
  const at::Tensor whole = order(epoch), on_host = own_share(whole);
  return {epoch, on_host, selecting() != nullptr ? selecting()->uploaded(on_host) : at::Tensor(),
          targets_of_whole_batches(whole)};
}

void Batches::prepare_epoch(int64_t epoch) {
  if (selecting() != nullptr) prepared_ = make_order(epoch);
}

void Batches::start_epoch(int64_t epoch, int64_t first_batch) {
  RNNLAB_INVARIANT(first_batch >= 0 && first_batch <= num_batches_, "an epoch begun beyond its end");
  seconds_waited_ = 0;
  next_batch_ = first_batch;
  const Stopwatch stopwatch(seconds_waited_);
  const bool path_exists = prepared_ && prepared_->epoch == epoch;
  order_ = path_exists ? *std::exchange(prepared_, std::nullopt) : make_order(epoch);
  EpochPlan plan;
  plan.order = order_.on_host;
  plan.order_on_device = order_.on_device;
  plan.batch_size = own_batch_size(options_.batch_size, options_.share);
  plan.num_batches = num_batches_;
  plan.first_batch = first_batch;
  if (options_.order == Order::kByLength) plan.cutting_lengths = lengths_;
  source_->start(plan);
  started_ = true;
}

const SelectingSource* Batches::selecting() const {
  if (has_missing_targets_) return nullptr;
  const auto* source = dynamic_cast<const SelectingSource*>(source_.get());
  return source != nullptr && !source->has_lengths() ? source : nullptr;
}

bool Batches::has_selections() const { return selecting() != nullptr; }

std::optional<Selection> Batches::next_selection(int64_t count) {
  RNNLAB_INVARIANT(started_ && has_selections(), "next_selection() without selections or before start_epoch()");
  if (next_batch_ == num_batches_) return std::nullopt;
  const Stopwatch stopwatch(seconds_waited_);
  const int64_t first = next_batch_;
  next_batch_ = std::min(num_batches_, first + count);
  Selection selection{selecting()->selection(first, next_batch_ - first), {}, {}};
  for (int64_t batch = first; batch < next_batch_; ++batch) {
    selection.whole_sizes.push_back(whole_size(batch));
    selection.sizes.push_back(own_size_of(selection.whole_sizes.back(), options_.share));
  }
  return selection;
}

Batch Batches::gather(const at::Tensor& samples, int64_t whole_size) const {
  RNNLAB_INVARIANT(has_selections(), "gather() without selections");
  Batch batch = selecting()->gather(samples);
  batch.whole_size = whole_size;
  batch.whole_targets = whole_size * targets_of_sample_;
  return batch;
}

std::optional<Batch> Batches::next() {
  RNNLAB_INVARIANT(started_, "next() before start_epoch()");
  if (next_batch_ == num_batches_) return std::nullopt;
  const Stopwatch stopwatch(seconds_waited_);
  Batch batch = source_->fetch(next_batch_);
  batch.whole_size = whole_size(next_batch_);
  batch.whole_targets = whole_targets(next_batch_);
  if (has_missing_targets_) {
    const int64_t first = next_batch_ * own_batch_size(options_.batch_size, options_.share);
    batch.target_counts = target_counts_.index_select(0, order_.on_host.narrow(0, first, batch.size));
  }
  ++next_batch_;
  return batch;
}

}  // namespace rnnlab
