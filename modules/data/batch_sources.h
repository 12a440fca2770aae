// SPDX-License-Identifier: Apache-2.0
// Batches are made from samples in three ways: gathered on request, gathered ahead by a thread, or selected on the
// device. All three make equal batches. This header is internal to Batches, which decides which batches to make.
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

#include "data/dataset.h"

namespace rnnlab {

// A queue of at most `capacity` items between one producer thread and one consumer thread. The producer waits for room,
// the consumer for an item. If the producer fails, the consumer receives the earlier items and then the exception.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Returns false, and drops the item, if `stop` is requested before the queue has room.
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

  // Waits for an item; rethrows the exception of the producer if it failed.
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

// The functions below gather batches on the CPU and change the samples to time-major order in the same pass. The caller
// chooses the memory, so that a batch can be gathered directly into pinned memory.

// Returns an uninitialised, contiguous CPU tensor of this shape and type.
using Allocate = std::function<at::Tensor(at::IntArrayRef shape, at::ScalarType type)>;

at::Tensor allocate_plain(at::IntArrayRef shape, at::ScalarType type);

// Returns the bytes of one sample of a contiguous (N, ...).
int64_t sample_bytes(const at::Tensor& tensor);

// `order` holds the indices of the batch's samples. `allocate` is called for the inputs and then for the targets. Only
// the first `num_steps` steps are gathered.
Batch gather_batch(const Samples& samples, std::span<const int64_t> order, int64_t num_steps,
                   const Allocate& allocate = allocate_plain);

// The batches of one epoch: batch i holds the samples order[i * batch_size ...]; the last batch holds the rest.
struct EpochPlan {
  at::Tensor order;  // (N) int64 on the CPU
  int64_t batch_size = 1;
  int64_t num_batches = 0;
  int64_t first_batch = 0;          // the first batch to fetch
  at::Tensor order_on_device = {};  // order from SelectingSource::uploaded(), for a SelectingSource
  at::Tensor cutting_lengths = {};  // (N) int64 on the CPU, if a batch is cut off behind its longest sequence

  int64_t size(int64_t batch) const;
  std::span<const int64_t> samples(int64_t batch) const;
  // Returns the number of steps of a batch of samples that have `all_steps`. A batch that is cut off has the length of
  // its longest sequence, rounded up to a sixteenth of all steps, because layers prepare themselves for each shape.
  int64_t num_steps(int64_t all_steps, int64_t batch) const;
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual void start(const EpochPlan& plan) = 0;
  // Returns a batch of the plan. Batches are fetched once each and in order, beginning with first_batch.
  virtual Batch fetch(int64_t batch) = 0;
};

// A source that selects on the device and can return its selections. Samples with lengths, which the host must know,
// can only be fetched.
class SelectingSource : public BatchSource {
 public:
  virtual bool has_lengths() const = 0;
  virtual at::Tensor uploaded(const at::Tensor& order) const = 0;  // does not wait for the device
  virtual at::Tensor selection(int64_t first_batch, int64_t count) const = 0;
  virtual Batch gather(const at::Tensor& selection) const = 0;
};

// Gathers each batch on request, on the CPU.
std::unique_ptr<BatchSource> make_direct_source(const Samples& samples);

// Keeps a time-major copy of the samples on the device, uploaded in chunks. A batch is one index_select.
std::unique_ptr<SelectingSource> make_resident_source(const Samples& samples, c10::Device device);

// A thread gathers batches ahead. For a GPU it gathers into one of two pinned buffers, which are copied to the device
// on a separate stream.
std::unique_ptr<BatchSource> make_prefetched_source(const Samples& samples, c10::Device device);

}  // namespace rnnlab
