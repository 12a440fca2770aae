#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <thread>

#include "data/batch_sources.h"
#include "data/bounded_queue.h"
#include "data/gather.h"

namespace rnnlab {
namespace {

constexpr size_t kBatchesAhead = 2;

// A batch on its way to the consumer. `ready` is recorded behind the copies to the device; none on the CPU.
struct Prepared {
  Batch batch;
  std::optional<c10::Event> ready;
};

// Turns the samples of a batch into tensors on the device. Lives on the prefetch thread.
class Preparer {
 public:
  virtual ~Preparer() = default;
  virtual Prepared prepare(const Samples& samples, std::span<const int64_t> order) = 0;
};

class HostPreparer : public Preparer {
 public:
  Prepared prepare(const Samples& samples, std::span<const int64_t> order) override {
    return {gather_batch(samples, order), std::nullopt};
  }
};

// Pinned memory that grows to the largest batch and then stays. Tensors cut from it lie behind one another.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(c10::DeviceType type) : copied_(type) {}

  // Waits until the copies out of this buffer have ended: only then may it be written again.
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

class DevicePreparer : public Preparer {
 public:
  explicit DevicePreparer(c10::Device device)
      : device_(device),
        copy_stream_(c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device)),
        buffers_{PinnedBuffer(device.type()), PinnedBuffer(device.type())} {}

  Prepared prepare(const Samples& samples, std::span<const int64_t> order) override {
    PinnedBuffer& buffer = buffers_[turn_];
    turn_ = (turn_ + 1) % buffers_.size();
    buffer.reuse(buffer_bytes(samples, static_cast<int64_t>(order.size())));
    Prepared prepared{gather_batch(samples, order, [&](auto shape, auto type) { return buffer.cut(shape, type); }),
                      c10::Event(device_.type())};
    const c10::StreamGuard guard(copy_stream_);
    prepared.batch.inputs = prepared.batch.inputs.to(device_, /*non_blocking=*/true);
    prepared.batch.targets = prepared.batch.targets.to(device_, /*non_blocking=*/true);
    buffer.mark_copied(copy_stream_);
    prepared.ready->record(copy_stream_);
    return prepared;
  }

 private:
  static int64_t buffer_bytes(const Samples& samples, int64_t batch_size) {
    return PinnedBuffer::aligned(batch_size * sample_bytes(samples.inputs)) +
           PinnedBuffer::aligned(batch_size * sample_bytes(samples.targets));
  }

  c10::Device device_;
  c10::Stream copy_stream_;
  std::array<PinnedBuffer, 2> buffers_;
  size_t turn_ = 0;
};

std::unique_ptr<Preparer> make_preparer(c10::Device device) {
  if (device.is_cpu()) return std::make_unique<HostPreparer>();
  return std::make_unique<DevicePreparer>(device);
}

// One thread an epoch; its destructor asks it to stop and waits for it.
class PrefetchedSource : public BatchSource {
 public:
  PrefetchedSource(const Samples& samples, c10::Device device)
      : samples_(samples), device_(device), preparer_(make_preparer(device)) {}

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
        if (!queue_->push(preparer_->prepare(samples_, plan.samples(batch)), stop)) return;
      }
    } catch (...) {
      queue_->fail(std::current_exception());
    }
  }

  // The consumer's stream waits for the copies (the consumer does not), and the allocator learns that it uses the
  // tensors.
  void hand_over(Prepared& prepared) {
    const c10::Stream stream = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
    prepared.ready->block(stream);
    prepared.batch.inputs.record_stream(stream);
    prepared.batch.targets.record_stream(stream);
  }

  Samples samples_;
  c10::Device device_;
  std::unique_ptr<Preparer> preparer_;
  std::unique_ptr<BoundedQueue<Prepared>> queue_;
  std::jthread worker_;  // last, so that it ends before what it uses
};

}  // namespace

std::unique_ptr<BatchSource> make_prefetched_source(const Samples& samples, c10::Device device) {
  return std::make_unique<PrefetchedSource>(samples, device);
}

}  // namespace rnnlab
