// SPDX-License-Identifier: Apache-2.0
// Represents the processes that train one run together, for the code that trains: a few collective operations, which
// every rank must call at the same place of its program. Tensors on CPUs are sent by LibTorch's ProcessGroupGloo, those
// on GPUs by NCCL (GpuGroup). A run of one process has the sole_rank(), whose operations cost nothing: they do nothing,
// or return what they get. So no code outside of this folder asks whether there are other ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "train/ranks/launch.h"

namespace rnnlab {

// How the ranks' GPUs are connected. Each rank has its own GPU, unless `is_shared`.
struct GpuConnection {
  c10::Device device = c10::kCUDA;
  bool is_shared = false;
  ExchangeKind exchange = ExchangeKind::kAuto;
  int64_t channels = DistributedSettings::kUsualChannels;
};

// Where the messages of all ranks lie, in the order of ranks: in the memory of their GPUs, and where fetch() copies
// them. Small messages are not copied.
struct MessageSources {
  std::vector<at::Tensor> of_ranks;
  std::vector<at::Tensor> fetched;
};

// all_reduce(), all_gather(), wait_for() and the functions that use them are collective. On a GPU the first two only
// queue their work on the current stream, and wait_for() throws their errors and those of NCCL. All of these functions
// throw RankFailed if another process has failed, sends no heartbeat for the timeout, or sends heartbeats but does not
// reach the operation for that time without writing files.
class Ranks {
 public:
  Ranks(int64_t rank, int64_t size) : rank_(rank), size_(size) {}
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int64_t rank() const { return rank_; }
  int64_t size() const { return size_; }
  bool is_first() const { return rank_ == 0; }

  // Calls `work` on the first rank and returns its result; the other ranks return the default value of its type.
  template <class Work>
  auto on_first(const Work& work) const {
    using Result = decltype(work());
    return is_first() ? work() : Result();
  }

  // ---- what a sole rank has no need of ----

  // Returns `wanted`, or one for each rank. A sole rank needs nothing that is not wanted.
  virtual std::optional<int64_t> one_each(const std::optional<int64_t>& wanted) const { return wanted.value_or(size_); }

  // Returns `value`, which says something about several ranks; nothing for a sole rank.
  virtual std::optional<double> of_several(double value) const { return value; }

  // Returns whether `condition`, which this process finds by its own clock, is known to be true on every rank without
  // asking. A sole rank knows; other ranks would have to ask (is_true_on_all).
  virtual bool is_known_on_all(bool /*condition*/) const { return false; }

  // Returns the numbers of all ranks in one step: the `own` number of a sole rank, and else what `exchanged` returns.
  using NumbersOfRanks = std::optional<std::vector<double>>;
  virtual NumbersOfRanks numbers_of_step(double /*own*/, const std::function<NumbersOfRanks()>& exchanged) const {
    return exchanged();
  }

  // Returns the name of this rank's device that is the same on all ranks: on GPUs each has its own.
  virtual std::string shared_name(c10::Device device) const { return device.is_cuda() ? "cuda" : device.str(); }

  // Throws UserError kUsage for work that one process alone can do: "<what>, but 2 processes train this run; ...".
  virtual void require_sole(const std::string& what) const;

  // Replaces `values`, which must be contiguous, by the sum over all ranks, with the same bits on each rank. The
  // backend chooses the order of the sum.
  virtual void all_reduce(at::Tensor& values) = 0;

  // Writes every rank's `values`, in the order of ranks, into `all`: (size, ...), contiguous. The shape is the same on
  // each rank.
  virtual void all_gather_into(const at::Tensor& values, const at::Tensor& all) = 0;
  at::Tensor all_gather(const at::Tensor& values);  // (size, ...)

  // Returns memory for all_gather_into() of `values`, which stay at their address. That of a sole rank is `values`
  // itself.
  virtual at::Tensor memory_for_all(const at::Tensor& values) const;  // (size, ...)

  // Returns every rank's value, in the order of ranks, to compare them. A sole rank has nothing to compare: it does not
  // compute its value, and returns no row.
  virtual at::Tensor gather_to_compare(const std::function<at::Tensor()>& value);

  // Returns every rank's text, in the order of ranks. A rank that sends heartbeats may take as long as the start's
  // timeout, because it may have to load or measure something before it has its text.
  virtual std::vector<std::string> all_gather_texts(const std::string& text) = 0;

  // Returns every rank's description of itself; none for a sole rank.
  virtual std::vector<std::string> descriptions(const std::function<std::string()>& own) {
    return all_gather_texts(own());
  }

  // Returns whether `condition` is true on every rank.
  bool is_true_on_all(bool condition);

  // Waits until `has_ended`, which is called repeatedly, returns true. The function is for queued work of a GPU,
  // because a plain wait would never end if a rank is missing.
  virtual void wait_for(const std::function<bool()>& has_ended);
  virtual void wait_for(c10::Device device);  // for the work on its current stream; returns at once on a CPU

  // Returns "gloo", "nccl" or "symmetric_memory".
  virtual std::string backend() const = 0;

  // Asks for the connection of the GPUs and makes it, unless it is nothing. After this call tensors may be on this
  // rank's GPU. A sole rank does not ask.
  virtual void connect_gpus(const std::function<std::optional<GpuConnection>()>& connection);

  // Returns zeros, (count) float32 for each of `counts`, on the device of `options`: memory that the backend sends
  // fastest. All ranks call this function with the same counts.
  virtual std::vector<at::Tensor> message_memory(const std::vector<int64_t>& counts, const at::TensorOptions& options);

  // Returns where the time is counted in which a GPU waits for other ranks, (2) int64 (kernels::Norms); undefined for a
  // sole rank, which does not wait.
  virtual at::Tensor clock_of_waiting(const at::TensorOptions& options) const;

  // If this function returns true, a caller that has messages from message_memory() calls the next four functions
  // instead of all_reduce(), and adds up itself.
  virtual bool gives_sources() const { return false; }

  // Returns where the messages of all ranks lie for this rank.
  virtual MessageSources sources_of(const at::Tensor& message);

  // These functions queue work. announce() ends when all ranks have announced the message, which they have written by
  // then. fetch() copies an announced message to this rank. After end_reads() all messages may be written again: it
  // ends when all ranks have called it.
  virtual void announce(const at::Tensor& message);
  virtual void fetch(const at::Tensor& message);
  virtual void end_reads();

  // Sets the training step of this process, for messages.
  virtual void set_step(int64_t) {}

  // Between set_writing(true) and set_writing(false) the other ranks wait for this process while it sends
  // heartbeats. The calls may be nested.
  virtual void set_writing(bool) {}

  // The last operation of a run that has succeeded here. Waits until every rank has called it, because rank 0 writes
  // files until then, and a launcher may kill it when another rank has ended. Once all have called it, the loss of a
  // rank does not matter any more; before, it throws RankFailed.
  virtual void finish() { is_true_on_all(true); }

  // Call this function before this process leaves the run: it stores the failure with which the other ranks end. The
  // first failure of all ranks counts.
  virtual void post_failure(ExitCode exit_code, const std::string& message) noexcept = 0;

  // Returns whether this process is the one that reports to the user why the run ended: rank 0, or another rank if rank
  // 0 does not do so within three seconds.
  virtual bool claim_report(const std::string& message) noexcept = 0;

  // Returns, after claim_report(), whether this process reached neither the store nor the host of rank 0, which then
  // reports the end of the run on its side of the network if it still runs.
  virtual bool is_cut_off() const { return false; }

 private:
  int64_t rank_;
  int64_t size_;
};

// The Ranks of a process that trains alone, which fails and reports for itself. It lives as long as the process.
Ranks& sole_rank();

// Marks this process as writing files during its lifetime, or, within that time, as doing what all ranks do together.
template <bool kIsWriting>
class WritingMark {
 public:
  explicit WritingMark(Ranks& ranks) : ranks_(ranks) { ranks_.set_writing(kIsWriting); }
  ~WritingMark() { ranks_.set_writing(!kIsWriting); }
  WritingMark(const WritingMark&) = delete;
  WritingMark& operator=(const WritingMark&) = delete;

 private:
  Ranks& ranks_;
};
using WritingFiles = WritingMark<true>;
using WritingPause = WritingMark<false>;

struct RanksOptions {
  std::chrono::milliseconds timeout{30'000};         // the limit for a missing rank in an operation
  std::chrono::milliseconds start_timeout{120'000};  // the limit until all ranks have connected
  std::string name;  // of the run; ranks of a run with a different name use different keys in the store
  std::optional<std::string> interface = {};  // DistributedSettings::interface
};

// Waits until all ranks have connected, each by the address that own_addresses() in network.h returns. Throws UserError
// kDevice if the store cannot be reached or ranks are missing, which the message names.
//
// If rank 0 holds the store, it leaves last: its destructor waits for ranks that still send heartbeats.
std::unique_ptr<Ranks> connect_ranks(const Launch& launch, const RanksOptions& options);

// Does what post_failure() and claim_report() do, for a process that fails before it can join the others. Opens the
// store for this purpose and waits a few seconds for the store's answers. Returns true if the store cannot be reached.
bool claim_report_before_joining(const Launch& launch, const std::string& name_of_run,
                                 const std::optional<std::string>& interface, const UserError& failure) noexcept;

}  // namespace rnnlab
