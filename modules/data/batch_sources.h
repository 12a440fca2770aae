// The three ways in which a batch is made of samples: gathered when asked for, gathered ahead by a thread, or selected
// on the device. Internal to Batches, which says what to make; these know how, and all make the same.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <span>

#include "data/batches.h"
#include "data/dataset.h"

namespace rnnlab {

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
