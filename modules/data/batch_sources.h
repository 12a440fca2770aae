// The three ways in which a batch is made of samples: gathered when asked for, gathered ahead by a thread, or selected
// on the device. Internal to Batches, which says what to make; these know how, and all make the same.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <utility>

#include "data/batches.h"
#include "data/dataset.h"

namespace rnnlab {

// A queue between one producing and one consuming thread that holds at most `capacity` items: the producer waits for
// room, the consumer for an item. A producer that fails leaves its exception, which reaches the consumer after the
// items before it.

template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // False, with the item thrown away, when `stop` is asked for before there is room.
  bool push(T item, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return items_.size() < capacity_; })) return false;
    items_.push_back(std::move(item));
    changed_.notify_all();
    return true;
  }

  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    changed_.notify_all();
  }

  // Waits for an item, or throws what the producer failed with.
  T pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !items_.empty() || error_; });
    if (items_.empty()) std::rethrow_exception(error_);
    T item = std::move(items_.front());
    items_.pop_front();
    changed_.notify_all();
    return item;
  }

 private:
  size_t capacity_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<T> items_;
  std::exception_ptr error_;
};

// Batches on the CPU: the chosen samples, turned time-major in the same pass. The memory is the caller's choice, so
// that a batch can be gathered straight into pinned memory.

// An uninitialised, contiguous CPU tensor of this shape and type.
using Allocate = std::function<at::Tensor(at::IntArrayRef shape, at::ScalarType type)>;

at::Tensor allocate_plain(at::IntArrayRef shape, at::ScalarType type);

// Of one sample of a contiguous (N, ...).
int64_t sample_bytes(const at::Tensor& tensor);

// `order` names the samples of the batch; inputs and targets are written to what `allocate` gives for each in turn.
Batch gather_batch(const Samples& samples, std::span<const int64_t> order, const Allocate& allocate = allocate_plain);

// The batches of one epoch: batch i holds the samples order[i * batch_size ...], and the last one all that are left.
struct EpochPlan {
  at::Tensor order;  // (N) int64 on the CPU
  int64_t batch_size = 1;
  int64_t num_batches = 0;
  int64_t first_batch = 0;          // that will be asked for
  at::Tensor order_on_device = {};  // as SelectingSource::uploaded() gives it, for such a source

  int64_t size(int64_t batch) const;
  std::span<const int64_t> samples(int64_t batch) const;
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual void start(const EpochPlan& plan) = 0;
  // A batch of the plan, each asked for once and in order, beginning with the first.
  virtual Batch fetch(int64_t batch) = 0;
};

// A source that selects on the device can tell what it selects. Samples with lengths, which the host must know, are
// fetched only.
class SelectingSource : public BatchSource {
 public:
  virtual bool has_lengths() const = 0;
  virtual at::Tensor uploaded(const at::Tensor& order) const = 0;  // does not wait for the device
  virtual at::Tensor selection(int64_t first_batch, int64_t count) const = 0;
  virtual Batch gather(const at::Tensor& selection) const = 0;
};

// Gathers each batch when it is asked for, on the CPU.
std::unique_ptr<BatchSource> make_direct_source(const Samples& samples);

// Keeps a time-major copy of the samples on the device, uploaded in chunks: a batch is one index_select.
std::unique_ptr<SelectingSource> make_resident_source(const Samples& samples, c10::Device device);

// A thread gathers ahead. For a GPU, into one of two pinned buffers, from where it goes to the device on a stream of
// its own.
std::unique_ptr<BatchSource> make_prefetched_source(const Samples& samples, c10::Device device);

}  // namespace rnnlab
