// What the processes of one run add up in each step, so that every one of them then makes the same update: gradients,
// the sums that a step's row tells, and whether one of them was asked to stop. The gradient of all is that of the mean
// loss over all targets, however these are divided.
//
// A batch is cut into shards, and each is computed by itself, with masks of dropout of its own. Every rank has as many,
// one after another. Without `training.shards` that is one each, and the engine adds up in an order of its own. With
// it, sums follow a fixed tree over the numbers of shards, so that any number of ranks that divides the shards gives
// the same bits.
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

// Small values that a device computes turn after turn, read by the host some turns later, so that it never waits for
// the turn that it queued last. Every reader of the same turns gets each value at the same turn.

class LateValues {
 public:
  // So many turns stay queued on a GPU while the host reads. On a CPU values are there at once.
  static constexpr size_t kTurnsBehind = 2;

  // After a turn was queued on the current stream: takes a copy of `values`.
  void append(const at::Tensor& values);

  // The oldest values that were not read yet, on the CPU, if kTurnsBehind turns were queued since. `wait_until` waits
  // for their turn to end.
  using WaitUntil = std::function<void(const std::function<bool()>& has_ended)>;
  std::optional<at::Tensor> next(const WaitUntil& wait_until);

  void clear() { copies_.clear(); }

 private:
  struct Copy {
    at::Tensor on_host;
    std::optional<c10::Event> written;  // nothing on a CPU
  };

  std::deque<Copy> copies_;
};

class GradientExchange {
 public:
  // `ranks` must outlive this; null: this process alone. `shards`: a power of two that the number of ranks divides, or
  // nothing. `targets_per_sample`: what a sample adds to Evaluation::count.
  GradientExchange(Ranks* ranks, std::optional<int64_t> shards, std::vector<NamedTensor> parameters,
                   int64_t targets_per_sample);

  // This rank's shards: from first_shard() on, so many.
  int64_t first_shard() const { return rank() * num_own_shards_; }
  int64_t num_own_shards() const { return num_own_shards_; }

  int64_t num_shards() const { return num_shards_; }  // of all ranks

  // The samples of a shard, from this rank's part of a batch: maybe none.
  Batch shard_of(const Batch& batch, int64_t shard) const;

  // The part of the targets of all ranks' `batches` that a batch of so many samples has: its mean loss counts so much.
  static double share_of(int64_t num_samples, std::span<const Batch> batches);

  // Takes the parameters' gradients, which may be undefined where a shard had no sample, and the sums of that shard, in
  // which each loss is times its share.
  void take(int64_t shard, const Evaluation& sums);

  // Of the rank that asks (an exit code, or any other number but 0), for the next steps. It stays until it is set
  // again.
  void ask_to_stop(double reason);

  // After all of its shards were taken: the parameters' gradients become the sums over all ranks, and the sums come
  // back.
  Evaluation add_up(std::span<const Batch> batches);

  // How long add_up() took in the engine, waiting for other ranks included, since this was asked last. Nothing for a
  // process alone, and on a GPU, where the engine only queues work.
  std::optional<double> take_seconds();

  // Seconds of one exchange by itself: the median of a few, after some to warm up. Collective; before the first step.
  double measure();
  int64_t num_bytes() const { return result_.numel() * result_.element_size(); }  // of a message

  // Once after each turn of steps, at the same steps on every rank: what each rank asked for in the last step of that
  // turn, or, on a GPU, of a turn before it (LateValues), 0 where it asks for nothing. Nothing where it is not known
  // yet.
  std::optional<std::vector<double>> stop_requests();

  // What was asked for until now is not told any more.
  void forget_stop_requests() { late_requests_.clear(); }

 private:
  int64_t rank() const { return ranks_ == nullptr ? 0 : ranks_->rank(); }
  int64_t num_ranks() const { return ranks_ == nullptr ? 1 : ranks_->size(); }
  void add_up_over_ranks();
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
  std::vector<int64_t> offsets_;  // in a message, of each parameter, then of the sums
  at::Tensor messages_;           // one of each own shard: all gradients, three sums, and a request of each rank
  at::Tensor messages_of_all_;    // of each rank, where they are added up in order
  at::Tensor result_;             // the sum over all ranks, always at the same place
  double own_request_ = 0;
  at::Tensor own_request_on_device_;  // where captured steps find it
  LateValues late_requests_;
  double seconds_ = 0;  // in the engine
};

}  // namespace rnnlab
