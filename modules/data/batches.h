// One epoch after another of batches from samples, on the device that trains. Where the samples lie (on the device, or
// on the host behind a thread that prepares batches ahead) changes the speed and nothing else: the batches of an epoch
// are the same, bit for bit, for every placement and device. Not for use by several threads at once.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/dataset.h"

namespace rnnlab {

// The order in which an epoch visits the samples: a pure function of its arguments, the same on every machine, so that
// going on at epoch 7 needs no state but the number 7. Not for cryptography.

// (n) int64 on the CPU: 0 .. n-1, shuffled by Fisher and Yates' method (Knuth, The Art of Computer Programming
// 2, 3.4.2, algorithm P) on splitmix64 (Steele, Lea, Flood 2014), every order equally likely but for the seed's 64
// bits.
at::Tensor permutation(int64_t n, uint64_t seed, int64_t epoch);

class BatchSource;
class SelectingSource;

enum class TailPolicy { kKeep, kDrop };       // what becomes of a last batch that is not full
enum class Order { kShuffled, kSequential };  // shuffled: permutation(n, seed, epoch)
enum class Placement { kAutomatic, kDevice, kHost };

// What of an epoch is this process's where several train together. The first process of one is all of it.
struct BatchShare {
  enum class Kind {
    kPartOfEach,    // of a batch of n samples, those from n * index / count to n * (index + 1) / count, maybe none
    kWholeBatches,  // every batch whose number, divided by `count`, leaves `index`
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
  // Automatic: on a GPU, on the device where the samples take at most half of its free memory, else on the host; on a
  // CPU, batches come straight from the samples. Host: pinned memory (for a GPU) and a prefetch thread.
  Placement placement = Placement::kAutomatic;
  BatchShare share = {};
};

struct Batch {
  at::Tensor inputs;       // (T, B, F) float32 or (T, B) int64, contiguous, on the device
  at::Tensor targets;      // (B) int64, (B, K) float32 or (T, B) int64, contiguous, on the device
  at::Tensor lengths;      // (B) int64 on the CPU, or undefined
  int64_t size = 0;        // B
  int64_t whole_size = 0;  // samples of the batch that this is a part of (BatchShare)
};

// Which samples the next batches have, without their values.
struct Selection {
  at::Tensor samples;                // int64, on the GPU: those of one batch after another
  std::vector<int64_t> sizes;        // of the batches, or of this process's parts of them
  std::vector<int64_t> whole_sizes;  // of the batches
};

class Batches {
 public:
  // UserError kUsage when no batch would be left, or a batch has fewer samples than parts; kDevice when placement is
  // kDevice and the samples do not fit.
  Batches(const Samples& samples, const BatchOptions& options, c10::Device device);
  ~Batches();
  Batches(Batches&&) noexcept;
  Batches& operator=(Batches&&) noexcept;

  // Begins epoch `epoch` (from 0) at its batch `first_batch`, as if those before had been taken; an epoch that is under
  // way is given up. At batches_per_epoch() there is nothing left of it.
  void start_epoch(int64_t epoch, int64_t first_batch = 0);

  // Draws the order of epoch `epoch` ahead, for start_epoch() to find it on the device: while that still works on the
  // epoch before. Does nothing where it would gain nothing.
  void prepare_epoch(int64_t epoch);

  // The next batch, or nothing at the end of the epoch. Never waits for the device. What the prefetch thread threw
  // is thrown from here.
  std::optional<Batch> next();

  // Instead of next(), for samples on a GPU: the choice of the next `count` batches, or of all that are left, and the
  // batch of the samples of any one. Neither waits for the device, so that gather() can be captured in a CUDA graph.
  // Requires has_selections().
  bool has_selections() const;
  std::optional<Selection> next_selection(int64_t count = 1);
  Batch gather(const at::Tensor& samples, int64_t whole_size) const;

  // The samples of epoch `epoch` (from 0) in the order in which all processes take them: (N) int64 on the CPU, without
  // those that TailPolicy::kDrop leaves out.
  at::Tensor order(int64_t epoch) const;

  int64_t batch_size() const { return options_.batch_size; }
  int64_t batches_per_epoch() const { return num_batches_; }              // of this process
  int64_t whole_batches_per_epoch() const { return num_whole_batches_; }  // of all processes
  // Of those that next() or next_selection() will give of this epoch, the parts of batches that its end does not cut
  // short.
  int64_t full_batches_left() const;
  int64_t samples_per_epoch() const;  // of all processes

  // Seconds that the caller spent in start_epoch() and next() since the epoch began.
  double seconds_waited() const { return seconds_waited_; }

  // Where the samples lie: never kAutomatic.
  Placement placement() const { return placement_; }

 private:
  struct EpochOrder {
    int64_t epoch = 0;
    at::Tensor on_host;
    at::Tensor on_device;  // of a source that selects there
  };

  const SelectingSource* selecting() const;
  EpochOrder make_order(int64_t epoch) const;
  at::Tensor own_share(const at::Tensor& order) const;
  int64_t whole_size(int64_t batch) const;

  int64_t num_samples_;
  BatchOptions options_;
  int64_t num_whole_batches_;  // of all processes
  int64_t num_batches_;
  Placement placement_;
  std::unique_ptr<BatchSource> source_;
  std::optional<EpochOrder> prepared_;
  bool started_ = false;
  int64_t next_batch_ = 0;
  double seconds_waited_ = 0;
};

// Device or host for these samples, as BatchOptions::placement says; UserError kDevice as Batches.
Placement choose_placement(const Samples& samples, Placement wanted, c10::Device device);

}  // namespace rnnlab
