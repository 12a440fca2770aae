// SPDX-License-Identifier: Apache-2.0
// Adds up, in each step, the values of the processes of one run, so that each process then makes the same update:
// gradients, the sums in a step's row, and whether a process was asked to stop. The result is the gradient of the mean
// loss over all targets, however the targets are divided.
//
// A batch is cut into shards, and each shard is computed separately, with its own masks of dropout. Every rank has the
// same number of consecutive shards. Without `training.shards` each rank has one shard, and the shards are added up
// piece by piece while the backward pass computes, by the backend or here (GradientPieces). With `training.shards`, the
// order of addition is a fixed tree over the numbers of shards, so that any number of ranks that divides the number of
// shards gives the same bits.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "data/batches.h"
#include "layers/parameters.h"
#include "train/loop/gradient_pieces.h"
#include "train/loop/step_record.h"
#include "train/ranks/ranks.h"

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

struct ExchangeOptions {
  Ranks* ranks = &sole_rank();    // must outlive the exchange
  std::optional<int64_t> shards;  // a power of two that the number of ranks divides, or empty
  bool overlaps = false;          // whether gradients travel while the backward pass computes; not with shards
  std::optional<int64_t> piece_bytes = std::nullopt;  // as of layout_of()
};

class GradientExchange {
 public:
  GradientExchange(const ExchangeOptions& options, std::vector<NamedTensor> parameters);

  // This rank has num_own_shards() shards from first_shard() on.
  int64_t first_shard() const { return ranks_->rank() * num_own_shards_; }
  int64_t num_own_shards() const { return num_own_shards_; }

  int64_t num_shards() const { return num_shards_; }  // number of shards of all ranks

  // Returns the samples of a shard from this rank's part of a batch; there may be none.
  Batch shard_of(const Batch& batch, int64_t shard) const;

  // Returns the weight of the mean loss of `part`: its part of the targets of `batches` on all ranks.
  static double weight_of(const Batch& part, std::span<const Batch> batches);

  // Returns who receives gradients during a backward pass, for layers; null with shards.
  GradientSink* sink() { return pieces_ ? &*pieces_ : nullptr; }

  // Call this function before each step. It forgets the last step, which may have ended by an exception.
  void begin_step();

  // Sets the sums of the next shard. Each loss in `sums` times `factor` must be the loss times the shard's weight. Call
  // this function before begin_last_pass().
  void set_sums(const Evaluation& sums, double factor);

  // Call this function before the last backward pass of a shard: the gradients that this pass writes may be sent at
  // once. A shard without samples has no backward pass. `is_only_pass`: see GradientPieces::begin_last_pass().
  void begin_last_pass(bool is_only_pass);

  // Stores the parameters' gradients of a shard. A gradient may be undefined if the shard has no sample.
  void store_shard(int64_t shard);

  // Sets the stop request of this rank for the next steps (an exit code, or any other number but 0). The request stays
  // until the next call.
  void request_stop(double reason);

  // Sets the parameters' gradients to the sums over all ranks, and returns the sums of losses and metrics. All shards
  // of this rank must have been stored.
  Evaluation all_reduce(std::span<const Batch> batches);

  // Call this function after the work that a step queues after all_reduce().
  void end_step();

  // Returns a GPU's clock, (2) int64 on the device, which does not exist on a CPU or if this process trains alone; and
  // the partial sums of the gradients' norms after all_reduce(), if they were computed with the sums.
  SummedGradients summed() const { return {clock_, pieces_ ? pieces_->norm_parts() : at::Tensor()}; }

  // Returns the seconds since the last call in which all_reduce() waited for the exchange, and so for other ranks. On a
  // GPU it is the time from the end of the backward passes to the begin of the update; call this function when the
  // device has ended the steps. Returns nothing if this process trains alone, or the GPU has no own kernels.
  std::optional<double> take_seconds();

  // Measures exchanges without other work. All ranks must call this function, before the first step.
  struct Alone {
    double seconds = 0;          // of the whole message
    double seconds_of_last = 0;  // of the piece that is sent last, which no backward pass hides
    int64_t num_bytes = 0;       // of the message of a rank
    size_t num_pieces = 1;
  };
  Alone measure();

  // Returns the requests of all ranks in the last step, or, on a GPU, in an earlier step (DelayedValues); 0
  // means that the rank has no request. Returns nothing if the requests are not known yet. Call this function once
  // after each launch of steps, at the same steps on every rank. A process that trains alone has its `own` request.
  std::optional<std::vector<double>> stop_requests(double own);

  // Drops the requests that stop_requests() has not returned yet.
  void clear_stop_requests() { delayed_requests_.clear(); }

 private:
  int64_t num_ranks() const { return ranks_->size(); }
  bool is_on_cpu() const { return own_request_on_device_.is_cpu(); }
  at::Tensor tail() const;  // of the summed message: the sums, then the requests
  void read_clock();
  void sum_pieces();
  void sum_shards();
  void queue_exchange();
  std::optional<std::vector<double>> exchanged_requests();
  double median_seconds(const std::function<void()>& run);
  double seconds_alone(const std::function<void()>& queue);

  Ranks* ranks_;
  int64_t num_shards_;
  int64_t num_own_shards_;
  std::vector<NamedTensor> parameters_;

  std::optional<GradientPieces> pieces_;  // without shards

  // With shards.
  MessageTail tail_of_shard_;
  MessageLayout layout_;
  at::Tensor messages_;         // one for each own shard
  at::Tensor messages_of_all_;  // one for each rank
  at::Tensor result_;           // the sum over all ranks, always at the same address

  double own_request_ = 0;
  at::Tensor own_request_on_device_;  // captured steps read it
  DelayedValues delayed_requests_;
  double seconds_ = 0;                       // with shards, of the host: in the backend
  at::Tensor clock_;                         // on a GPU
  std::optional<c10::Stream> clock_stream_;  // so that the step does not wait for the clock
  int64_t clock_before_ = 0;                 // clock_[1] at the last call of take_seconds()
};

}  // namespace rnnlab
