// SPDX-License-Identifier: Apache-2.0
#include "data/batch_sources.h"

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>

#include "base/error.h"
#include "data/mapped_inputs.h"

namespace rnnlab {
namespace {

// Returns (num_steps, B, ...) of a source (N, T, ...).
at::Tensor gather_steps(const at::Tensor& source, std::span<const int64_t> order, int64_t num_steps,
                        const Allocate& allocate) {
  RNNLAB_INVARIANT(source.is_contiguous() && source.is_cpu(), "samples lie contiguous on the CPU");
  std::vector<int64_t> shape = source.sizes().vec();
  shape[0] = num_steps;
  shape[1] = static_cast<int64_t>(order.size());
  at::Tensor out = allocate(shape, source.scalar_type());
  const auto stride = static_cast<size_t>(sample_bytes(source));
  const size_t step_bytes = stride / static_cast<size_t>(std::max<int64_t>(1, source.size(1)));
  const auto* from = static_cast<const std::byte*>(source.const_data_ptr());
  auto* to = static_cast<std::byte*>(out.mutable_data_ptr());
  for (size_t b = 0; b < order.size(); ++b) {
    RNNLAB_INVARIANT(order[b] >= 0 && order[b] < source.size(0), "the order names a sample that is not there");
    const std::byte* const sample = from + static_cast<size_t>(order[b]) * stride;
    copy_steps(sample, static_cast<size_t>(num_steps), step_bytes, b, order.size(), to);
  }
  return out;
}

// Returns (B, ...) of a source (N, ...), whose samples are steps of sequences of one step.
at::Tensor gather_samples(const at::Tensor& source, std::span<const int64_t> order, const Allocate& allocate) {
  return gather_steps(source.unsqueeze(1), order, 1, allocate).squeeze(0);
}

// Returns (num_steps, B, F).
at::Tensor gather_mapped(const Samples& samples, std::span<const int64_t> order, int64_t num_steps,
                         const Allocate& allocate) {
  const std::array shape = {num_steps, static_cast<int64_t>(order.size()), samples.num_features()};
  at::Tensor out = allocate(shape, at::kFloat);
  samples.mapped->gather(order, num_steps, samples.all_lengths(), out.mutable_data_ptr<float>());
  return out;
}

}  // namespace

int64_t sample_bytes(const at::Tensor& tensor) {
  return static_cast<int64_t>(tensor.nbytes()) / std::max<int64_t>(1, tensor.size(0));
}

at::Tensor allocate_plain(at::IntArrayRef shape, at::ScalarType type) { return at::empty(shape, type); }

Batch gather_batch(const Samples& samples, std::span<const int64_t> order, int64_t num_steps,
                   const Allocate& allocate) {
  Batch batch;
  batch.size = static_cast<int64_t>(order.size());
  batch.inputs = samples.mapped ? gather_mapped(samples, order, num_steps, allocate)
                                : gather_steps(samples.inputs, order, num_steps, allocate);
  batch.targets = has_target_per_step(samples.targets) ? gather_steps(samples.targets, order, num_steps, allocate)
                                                       : gather_samples(samples.targets, order, allocate);
  if (samples.lengths.defined()) batch.lengths = gather_samples(samples.lengths, order, allocate_plain);
  if (samples.target_units.defined())
    batch.target_units = gather_samples(samples.target_units, order, allocate_plain).to(at::kFloat);
  return batch;
}

int64_t EpochPlan::num_steps(int64_t all_steps, int64_t batch) const {
  constexpr int64_t kNumShapes = 16;
  if (!cutting_lengths.defined()) return all_steps;
  const auto* lengths = cutting_lengths.const_data_ptr<int64_t>();
  int64_t longest = 1;
  for (const int64_t sample : samples(batch)) longest = std::max(longest, lengths[sample]);
  const int64_t unit = (all_steps + kNumShapes - 1) / kNumShapes;
  return std::min(all_steps, (longest + unit - 1) / unit * unit);
}

namespace {

class DirectSource : public BatchSource {
 public:
  explicit DirectSource(Samples samples) : samples_(std::move(samples)) {}
  void start(const EpochPlan& plan) override { plan_ = plan; }
  Batch fetch(int64_t batch) override {
    return gather_batch(samples_, plan_.samples(batch), plan_.num_steps(samples_.sequence_length(), batch));
  }

 private:
  Samples samples_;
  EpochPlan plan_;
};

}  // namespace

std::unique_ptr<BatchSource> make_direct_source(const Samples& samples) {
  return std::make_unique<DirectSource>(samples);
}

namespace {

constexpr size_t kBatchesAhead = 2;

// A batch for the consumer. `ready` is recorded after the copies to the device; it is empty on the CPU.
struct Prepared {
  Batch batch;
  std::optional<c10::Event> ready;
};

// Pinned memory that grows to the size of the largest batch. Tensors cut from the buffer are consecutive.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(c10::DeviceType type) : copied_(type) {}

  // Waits until the copies out of this buffer have ended, because only then may the buffer be overwritten.
  void reuse(int64_t bytes) {
    if (copied_.was_marked_for_recording()) copied_.synchronize();
    used_ = 0;
    if (memory_.defined() && memory_.numel() >= bytes) return;
    memory_ = at::empty({bytes}, at::TensorOptions(at::kByte).pinned_memory(true));
  }

  at::Tensor cut(at::IntArrayRef shape, at::ScalarType type) {
    const int64_t bytes = c10::multiply_integers(shape) * static_cast<int64_t>(c10::elementSize(type));
    at::Tensor piece = memory_.narrow(0, used_, bytes).view(type).view(shape);
    used_ += aligned(bytes);
    return piece;
  }

  void mark_copied(const c10::Stream& stream) { copied_.record(stream); }

  static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

 private:
  at::Tensor memory_;
  int64_t used_ = 0;
  c10::Event copied_;
};

// Converts the samples of a batch to tensors on the device. It runs on the prefetch thread.
class DevicePreparer {
 public:
  explicit DevicePreparer(c10::Device device)
      : device_(device),
        copy_stream_(c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device)),
        buffers_{PinnedBuffer(device.type()), PinnedBuffer(device.type())} {}

  Prepared prepare(const Samples& samples, std::span<const int64_t> order, int64_t num_steps) {
    PinnedBuffer& buffer = buffers_[turn_];
    turn_ = (turn_ + 1) % buffers_.size();
    buffer.reuse(buffer_bytes(samples, static_cast<int64_t>(order.size())));
    const auto cut = [&](auto shape, auto type) { return buffer.cut(shape, type); };
    Prepared prepared{gather_batch(samples, order, num_steps, cut), c10::Event(device_.type())};
    const c10::StreamGuard guard(copy_stream_);
    prepared.batch.inputs = prepared.batch.inputs.to(device_, /*non_blocking=*/true);
    prepared.batch.targets = prepared.batch.targets.to(device_, /*non_blocking=*/true);
    if (prepared.batch.target_units.defined()) prepared.batch.target_units = prepared.batch.target_units.to(device_);
    buffer.mark_copied(copy_stream_);
    prepared.ready->record(copy_stream_);
    return prepared;
  }

 private:
  static int64_t input_bytes(const Samples& samples) {
    if (!samples.mapped) return sample_bytes(samples.inputs);
    return samples.sequence_length() * samples.num_features() * static_cast<int64_t>(sizeof(float));
  }

  static int64_t buffer_bytes(const Samples& samples, int64_t batch_size) {
    return PinnedBuffer::aligned(batch_size * input_bytes(samples)) +
           PinnedBuffer::aligned(batch_size * sample_bytes(samples.targets));
  }

  c10::Device device_;
  c10::Stream copy_stream_;
  std::array<PinnedBuffer, 2> buffers_;
  size_t turn_ = 0;
};

// Each epoch has its own thread. The destructor of the thread requests a stop and joins the thread.
class PrefetchedSource : public BatchSource {
 public:
  PrefetchedSource(Samples samples, c10::Device device) : samples_(std::move(samples)), device_(device) {
    if (!device.is_cpu()) preparer_.emplace(device);
  }

  void start(const EpochPlan& plan) override {
    worker_ = {};
    queue_ = std::make_unique<BoundedQueue<Prepared>>(kBatchesAhead);
    worker_ = std::jthread([this, plan](const std::stop_token& stop) { work(plan, stop); });
  }

  Batch fetch(int64_t) override {
    Prepared prepared = queue_->pop();
    if (prepared.ready) hand_over(prepared);
    return std::move(prepared.batch);
  }

 private:
  void work(const EpochPlan& plan, const std::stop_token& stop) noexcept {
    try {
      const c10::OptionalDeviceGuard guard(device_.is_cpu() ? std::nullopt : std::optional(device_));
      for (int64_t batch = plan.first_batch; batch < plan.num_batches; ++batch) {
        if (batch == plan.first_batch) read_ahead(plan, batch);
        read_ahead(plan, batch + 1);
        if (!queue_->push(prepare(plan, batch), stop)) return;
      }
    } catch (...) {
      queue_->fail(std::current_exception());
    }
  }

  Prepared prepare(const EpochPlan& plan, int64_t batch) {
    const int64_t num_steps = plan.num_steps(samples_.sequence_length(), batch);
    if (preparer_) return preparer_->prepare(samples_, plan.samples(batch), num_steps);
    return {gather_batch(samples_, plan.samples(batch), num_steps), std::nullopt};
  }

  // The disk then reads the samples of the next batch while this thread gathers a batch.
  void read_ahead(const EpochPlan& plan, int64_t batch) const {
    if (samples_.mapped && batch < plan.num_batches) samples_.mapped->will_need(plan.samples(batch));
  }

  // The consumer's stream waits for the copies (the host does not wait), and the allocator is informed that this stream
  // uses the tensors.
  void hand_over(Prepared& prepared) {
    const c10::Stream stream = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
    prepared.ready->block(stream);
    prepared.batch.inputs.record_stream(stream);
    prepared.batch.targets.record_stream(stream);
    if (prepared.batch.target_units.defined()) prepared.batch.target_units.record_stream(stream);
  }

  Samples samples_;
  c10::Device device_;
  std::optional<DevicePreparer> preparer_;  // none on the CPU
  std::unique_ptr<BoundedQueue<Prepared>> queue_;
  std::jthread worker_;  // declared last, so that the thread ends before the members that it uses are destroyed
};

}  // namespace

std::unique_ptr<BatchSource> make_prefetched_source(const Samples& samples, c10::Device device) {
  return std::make_unique<PrefetchedSource>(samples, device);
}

namespace {

constexpr int64_t kUploadBytes = 64 << 20;

// Copies (N, T, ...) on the CPU to (T, N, ...) on the device. At most one chunk exists twice at the same time.
at::Tensor upload_time_major(const at::Tensor& source, c10::Device device) {
  std::vector<int64_t> shape = source.sizes().vec();
  std::swap(shape[0], shape[1]);
  at::Tensor resident = at::empty(shape, source.options().device(device));
  const int64_t num_samples = source.size(0);
  const int64_t chunk = std::max<int64_t>(1, kUploadBytes / std::max<int64_t>(1, sample_bytes(source)));
  for (int64_t first = 0; first < num_samples; first += chunk) {
    const int64_t count = std::min(chunk, num_samples - first);
    resident.narrow(1, first, count).copy_(source.narrow(0, first, count).to(device).transpose(0, 1));
  }
  return resident;
}

// LibTorch copies number by number. So rows that consist of 16 bytes each are copied as complex numbers of that size.
at::Tensor samples_of(const at::Tensor& resident, int64_t dimension, const at::Tensor& selection) {
  constexpr int64_t kWidest = 16;
  const bool has_rows = resident.is_cuda() && resident.is_contiguous() && resident.dim() > dimension + 1;
  if (!has_rows || resident.size(-1) * resident.element_size() % kWidest != 0)
    return resident.index_select(dimension, selection);
  return resident.view(at::kComplexDouble).index_select(dimension, selection).view(resident.scalar_type());
}

class ResidentSource : public SelectingSource {
 public:
  ResidentSource(const Samples& samples, c10::Device device)
      : device_(device),
        inputs_(upload_time_major(samples.inputs, device)),
        target_dimension_(has_target_per_step(samples.targets) ? 1 : 0),
        targets_(target_dimension_ == 1 ? upload_time_major(samples.targets, device) : samples.targets.to(device)),
        lengths_(samples.lengths) {
    if (samples.target_units.defined()) target_units_ = samples.target_units.to(device, at::kFloat);
  }

  void start(const EpochPlan& plan) override {
    plan_ = plan;
    order_ = plan.order_on_device.defined() ? plan.order_on_device : uploaded(plan.order);
  }

  at::Tensor uploaded(const at::Tensor& order) const override {
    return device_.is_cuda() ? order.pin_memory().to(device_, /*non_blocking=*/true) : order;
  }

  Batch fetch(int64_t batch) override {
    Batch result = gather(selection(batch, 1));
    if (!has_lengths()) return result;
    result.lengths = lengths_.index_select(0, plan_.order.narrow(0, batch * plan_.batch_size, result.size));
    const int64_t num_steps = plan_.num_steps(inputs_.size(0), batch);
    result.inputs = result.inputs.narrow(0, 0, num_steps);
    if (target_dimension_ == 1) result.targets = result.targets.narrow(0, 0, num_steps);
    return result;
  }

  bool has_lengths() const override { return lengths_.defined(); }

  at::Tensor selection(int64_t first_batch, int64_t count) const override {
    const int64_t first = first_batch * plan_.batch_size;
    const bool is_to_the_end = first_batch + count >= plan_.num_batches;
    return order_.narrow(0, first, is_to_the_end ? order_.numel() - first : count * plan_.batch_size);
  }

  Batch gather(const at::Tensor& selection) const override {
    return {.inputs = samples_of(inputs_, 1, selection),
            .targets = samples_of(targets_, target_dimension_, selection),
            .lengths = {},
            .size = selection.size(0),
            .target_units = target_units_.defined() ? target_units_.index_select(0, selection) : at::Tensor()};
  }

 private:
  c10::Device device_;
  at::Tensor inputs_;  // (T, N, ...)
  int64_t target_dimension_;
  at::Tensor targets_;
  at::Tensor lengths_;
  at::Tensor target_units_;
  EpochPlan plan_;
  at::Tensor order_;
};

}  // namespace

std::unique_ptr<SelectingSource> make_resident_source(const Samples& samples, c10::Device device) {
  return std::make_unique<ResidentSource>(samples, device);
}

}  // namespace rnnlab
