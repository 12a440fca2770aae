// SPDX-License-Identifier: Apache-2.0
// Batches of samples for one epoch after another, on the device that trains. The placement of the samples (on the
// device, or on the host with a thread that prepares batches ahead) affects only the speed: the batches of an epoch are
// equal, bit for bit, for every placement and device. This class is not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/dataset.h"

namespace rnnlab {

class BatchSource;
class SelectingSource;

enum class TailPolicy { kKeep, kDrop };  // whether a last batch that is not full is kept
// kShuffled: permutation(n, seed, epoch). kByLength: the same in pools of 64 batches, of which each is sorted by the
// lengths of its samples and cut into batches, and then these batches in a shuffled order: sequences of a batch have
// similar lengths. Batches are then cut off behind their longest sequence. kStreams: with b batches, row j of batch i
// is sample j * b + i, so that a row of a batch continues the same row of the batch before; needs TailPolicy::kDrop.
enum class Order { kShuffled, kSequential, kByLength, kStreams };
enum class Placement { kAutomatic, kDevice, kHost };

// The share of this process in an epoch if several processes train together. A single process has all of the epoch.
struct BatchShare {
  enum class Kind {
    kPartOfEach,    // of a batch of n samples, those from n * index / count to n * (index + 1) / count; may be empty
    kWholeBatches,  // every batch whose number modulo `count` is `index`
  };
  Kind kind = Kind::kPartOfEach;
  int64_t index = 0;
  int64_t count = 1;

  bool is_all() const { return count == 1; }
};

struct BatchOptions {
  int64_t batch_size = 1;  // of all processes together
  TailPolicy tail = TailPolicy::kKeep;
  Order order = Order::kShuffled;
  uint64_t seed = 0;
  // Automatic: on a GPU, kDevice if the samples take at most half of its free memory, else kHost; on a CPU, batches are
  // gathered directly from the samples. Host: pinned memory (for a GPU) and a prefetch thread. Mapped inputs are always
  // on the host.
  Placement placement = Placement::kAutomatic;
  BatchShare share = {};
};

// The indices of the samples of the next batches, without values.
struct Selection {
  at::Tensor samples;                // int64, on the GPU: the indices of one batch after another
  std::vector<int64_t> sizes;        // of the batches, or of this process's parts of the batches
  std::vector<int64_t> whole_sizes;  // of the batches
};

class Batches {
 public:
  // Throws UserError kUsage if there would be no batch, or if a batch has fewer samples than parts; kDevice if the
  // placement is kDevice and the samples do not fit into the GPU's free memory. Mapped inputs need another placement
  // than kDevice.
  Batches(const Samples& samples, const BatchOptions& options, c10::Device device);
  ~Batches();
  Batches(Batches&&) noexcept;
  Batches& operator=(Batches&&) noexcept;

  // Starts epoch `epoch` (from 0) at its batch `first_batch`, as if the earlier batches had been taken; an unfinished
  // epoch is abandoned. If first_batch is batches_per_epoch(), the epoch has no batches left.
  void start_epoch(int64_t epoch, int64_t first_batch = 0);

  // Draws the order of epoch `epoch` and uploads it while the device still works on the previous epoch, so that
  // start_epoch() finds it on the device. Does nothing if the source does not select on a device.
  void prepare_epoch(int64_t epoch);

  // Returns the next batch, or nullopt at the end of the epoch. Never waits for the device. Rethrows exceptions of the
  // prefetch thread.
  std::optional<Batch> next();

  // An alternative to next() for samples on a GPU: next_selection() returns the indices of the next `count` batches, or
  // of all remaining batches, and gather() makes a batch from the indices of one batch. Neither waits for the device,
  // so that gather() can be captured in a CUDA graph. Requires has_selections(). A batch of which targets are missing
  // has none, because the host must know how many targets it has.
  bool has_selections() const;
  std::optional<Selection> next_selection(int64_t count = 1);
  Batch gather(const at::Tensor& samples, int64_t whole_size) const;

  // Returns the samples of epoch `epoch` (from 0) in the order in which all processes take them: (N) int64 on the CPU,
  // without the samples that TailPolicy::kDrop drops.
  at::Tensor order(int64_t epoch) const;

  int64_t batch_size() const { return options_.batch_size; }
  int64_t batches_per_epoch() const { return num_batches_; }              // of this process
  int64_t whole_batches_per_epoch() const { return num_whole_batches_; }  // of all processes
  // Returns the number of this process's full batches (or parts of full batches) that the epoch has left. A last batch
  // that is not full does not count.
  int64_t full_batches_left() const;
  int64_t samples_per_epoch() const;  // of all processes

  // Returns the seconds that the caller spent in start_epoch(), next() and next_selection() since the epoch began.
  double seconds_waited() const { return seconds_waited_; }

  // Returns where the samples are stored; never kAutomatic.
  Placement placement() const { return placement_; }

 private:
  struct EpochOrder {
    int64_t epoch = 0;
    at::Tensor on_host;
    at::Tensor on_device;                // for a source that selects on the device
    std::vector<int64_t> whole_targets;  // of each batch of all processes, if there are target_counts_
  };

  const SelectingSource* selecting() const;
  EpochOrder make_order(int64_t epoch) const;
  at::Tensor own_share(const at::Tensor& order) const;
  int64_t whole_size(int64_t batch) const;
  at::Tensor sorted_by_length(const at::Tensor& order, int64_t epoch) const;
  std::vector<int64_t> targets_of_whole_batches(const at::Tensor& order) const;
  int64_t whole_targets(int64_t batch) const;
  int64_t whole_number(int64_t batch) const;

  int64_t num_samples_;
  at::Tensor lengths_;             // (N) int64, or undefined
  int64_t targets_of_sample_ = 0;  // numbers or classes
  at::Tensor target_counts_;       // (N) int64: likewise; undefined unless samples have different numbers of targets
  bool has_missing_targets_ = false;
  BatchOptions options_;
  int64_t num_whole_batches_;  // of all processes
  int64_t num_batches_;
  Placement placement_;
  std::unique_ptr<BatchSource> source_;
  std::optional<EpochOrder> prepared_;
  EpochOrder order_;  // of the epoch
  bool started_ = false;
  int64_t next_batch_ = 0;
  double seconds_waited_ = 0;
};

// Resolves BatchOptions::placement for these samples to kDevice or kHost. Throws UserError kDevice as Batches.
Placement choose_placement(const Samples& samples, Placement wanted, c10::Device device);

}  // namespace rnnlab
