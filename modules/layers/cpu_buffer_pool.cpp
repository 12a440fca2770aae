// SPDX-License-Identifier: Apache-2.0
#include "layers/cpu_buffer_pool.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <algorithm>
#include <deque>
#include <mutex>

namespace rnnlab {
namespace {

// malloc itself keeps smaller blocks.
constexpr size_t kLeastBytes = size_t{32} << 10;

struct Block {
  void* data;
  size_t bytes;
};

class CpuBufferPool {
 public:
  Block take(size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto fits = [&](const Block& block) { return block.bytes >= bytes && block.bytes - bytes <= bytes / 4; };
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), fits);
    const Block block = found == waiting_.end() ? Block{c10::alloc_cpu(bytes), bytes} : *found;
    if (found != waiting_.end()) forget(found);
    in_use_ += block.bytes;
    most_in_use_ = std::max(most_in_use_, in_use_);
    report(block, static_cast<int64_t>(block.bytes));
    return block;
  }

  void give_back(const Block& block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    in_use_ -= block.bytes;
    report(block, -static_cast<int64_t>(block.bytes));
    waiting_.push_back(block);
    waiting_bytes_ += block.bytes;
    while (in_use_ + waiting_bytes_ > most_in_use_ + most_in_use_ / 2) {
      c10::free_cpu(waiting_.front().data);
      forget(waiting_.begin());
    }
  }

  size_t waiting_bytes() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return waiting_bytes_;
  }

 private:
  // Reports to LibTorch's memory profiler, as LibTorch's own allocator does. Kept memory counts as reserved, not as
  // used.
  void report(const Block& block, int64_t bytes) const {
    c10::reportMemoryUsageToProfiler(block.data, bytes, in_use_, in_use_ + waiting_bytes_, at::kCPU);
  }

  void forget(const std::deque<Block>::iterator& block) {
    waiting_bytes_ -= block->bytes;
    waiting_.erase(block);
  }

  std::mutex mutex_;
  std::deque<Block> waiting_;  // the block that was kept longest is first
  size_t waiting_bytes_ = 0, in_use_ = 0, most_in_use_ = 0;
};

// The pool is never destroyed, because tensors may outlive static objects.
CpuBufferPool& cpu_buffer_pool() {
  static auto* const kMemory = new CpuBufferPool;
  return *kMemory;
}

}  // namespace

at::Tensor empty_pooled(at::IntArrayRef shape, const at::TensorOptions& options) {
  const auto bytes = static_cast<size_t>(c10::multiply_integers(shape)) * options.dtype().itemsize();
  if (bytes < kLeastBytes) return at::empty(shape, options);
  const Block block = cpu_buffer_pool().take(bytes);
  return at::from_blob(
      block.data, shape, [block](void*) { cpu_buffer_pool().give_back(block); }, options);
}

size_t kept_bytes() { return cpu_buffer_pool().waiting_bytes(); }

}  // namespace rnnlab
