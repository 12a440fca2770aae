// SPDX-License-Identifier: Apache-2.0
// Adds up, in each step, the values of the processes of one run, so that each process then makes the same update:
// gradients, the sums in a step's row, and whether a process was asked to stop. The result is the gradient of the mean
// loss over all targets, however the targets are divided.
//
// A batch is cut into shards, and each shard is computed separately, with its own masks of dropout. Every rank has the
// same number of consecutive shards. Without `training.shards` each rank has one shard, and the backend adds them up in
// an order of its own. With `training.shards`, the order of addition is a fixed tree over the numbers of shards, so
// that any number of ranks that divides the number of shards gives the same bits.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "data/batches.h"
#include "distributed/ranks.h"
#include "training/named_tensor.h"
#include "training/step_record.h"

namespace rnnlab {

// Small values that a device computes in each step and that the host reads some steps later, so that the host never
// waits for the step that it queued last. All readers of the same sequence of steps get each value at the same step.
class DelayedValues {
 public:
  // This many steps stay queued on a GPU while the host reads. On a CPU values are available at once.
  static constexpr size_t kStepsBehind = 2;

  // Copies `values`. Call this function after a step was queued on the current stream.
  void append(const at::Tensor& values);

  // Returns the oldest unread values, on the CPU, if kStepsBehind steps were queued after them. Calls `wait_until` to
  // wait for their step to end.
  using WaitUntil = std::function<void(const std::function<bool()>& has_ended)>;
  std::optional<at::Tensor> next(const WaitUntil& wait_until);

  void clear() { copies_.clear(); }

 private:
  struct Copy {
    at::Tensor on_host;
    std::optional<c10::Event> written;  // empty on a CPU
  };

  std::deque<Copy> copies_;
};

class GradientExchange {
 public:
  // `ranks` must outlive this object; null if this process trains alone. `shards` is a power of two that the number of
  // ranks divides, or empty. `targets_per_sample` is the number of targets that a sample adds to Evaluation::count.
  GradientExchange(Ranks* ranks, std::optional<int64_t> shards, std::vector<NamedTensor> parameters,
                   int64_t targets_per_sample);

  // This rank has num_own_shards() shards from first_shard() on.
  int64_t first_shard() const { return rank() * num_own_shards_; }
  int64_t num_own_shards() const { return num_own_shards_; }

  int64_t num_shards() const { return num_shards_; }  // number of shards of all ranks

  // Returns the samples of a shard from this rank's part of a batch; there may be none.
  Batch shard_of(const Batch& batch, int64_t shard) const;

  // Returns the weight of the mean loss of `num_samples` samples: their part of the samples of `batches` on all ranks.
  static double weight_of(int64_t num_samples, std::span<const Batch> batches);

  // Stores the parameters' gradients and the sums of a shard. A gradient may be undefined if the shard has no sample.
  // Each loss in `sums` must be multiplied by its share already.
  void store_shard(int64_t shard, const Evaluation& sums);

  // Sets the stop request of this rank for the next steps (an exit code, or any other number but 0). The request stays
  // until the next call.
  void request_stop(double reason);

  // Sets the parameters' gradients to the sums over all ranks, and returns the sums of losses and metrics. All shards
  // of this rank must have been taken.
  Evaluation all_reduce(std::span<const Batch> batches);

  // Returns the seconds that all_reduce() spent in the backend since the last call, including waits for other ranks.
  // Returns nothing if this process trains alone, or on a GPU, because there the backend only queues work.
  std::optional<double> take_seconds();

  // Returns the seconds of one exchange alone: the median of a few, after a warm-up. All ranks must call this function,
  // before the first step.
  double measure();
  int64_t num_bytes() const { return result_.numel() * result_.element_size(); }  // size of a message

  // Returns the requests of all ranks in the last step, or, on a GPU, in an earlier step (DelayedValues); 0
  // means that the rank has no request. Returns nothing if the requests are not known yet. Call this function once
  // after each launch of steps, at the same steps on every rank.
  std::optional<std::vector<double>> stop_requests();

  // Drops the requests that stop_requests() has not returned yet.
  void clear_stop_requests() { delayed_requests_.clear(); }

 private:
  int64_t rank() const { return ranks_ == nullptr ? 0 : ranks_->rank(); }
  int64_t num_ranks() const { return ranks_ == nullptr ? 1 : ranks_->size(); }
  void reduce_over_ranks();
  bool is_timed() const { return ranks_ != nullptr && messages_.is_cpu(); }
  at::Tensor slice(const at::Tensor& message, size_t parameter) const;
  at::Tensor sums_of(const at::Tensor& message) const;
  at::Tensor requests_of(const at::Tensor& message) const;

  Ranks* ranks_;
  bool is_ordered_;
  int64_t num_shards_;
  int64_t num_own_shards_;
  std::vector<NamedTensor> parameters_;
  int64_t targets_per_sample_;
  std::vector<int64_t> offsets_;  // in a message: of each parameter, then of the sums
  at::Tensor messages_;           // one for each own shard: all gradients, three sums, and a request of each rank
  at::Tensor messages_of_all_;    // one for each rank, if they are added up in order
  at::Tensor result_;             // the sum over all ranks, always at the same address
  double own_request_ = 0;
  at::Tensor own_request_on_device_;  // captured steps read it
  DelayedValues delayed_requests_;
  double seconds_ = 0;  // spent in the backend
};

}  // namespace rnnlab
