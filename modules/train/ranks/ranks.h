// SPDX-License-Identifier: Apache-2.0
// Represents the processes that train one run together, for the code that trains: a few collective operations, which
// every rank must call at the same place of its program. Tensors on CPUs are sent by LibTorch's ProcessGroupGloo, those
// on GPUs by NCCL (GpuGroup). A run of one process has the sole_rank(), whose operations cost nothing.
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
  bool is_sole() const { return size_ == 1; }

  // Replaces `values`, which must be contiguous, by the sum over all ranks, with the same bits on each rank. The
  // backend chooses the order of the sum.
  virtual void all_reduce(at::Tensor& values) = 0;

  // Writes every rank's `values`, in the order of ranks, into `all`: (size, ...), contiguous. The shape is the same on
  // each rank.
  virtual void all_gather_into(const at::Tensor& values, const at::Tensor& all) = 0;
  at::Tensor all_gather(const at::Tensor& values);  // (size, ...)

  // Returns every rank's text, in the order of ranks. A rank that sends heartbeats may take as long as the start's
  // timeout, because it may have to load or measure something before it has its text.
  virtual std::vector<std::string> all_gather_texts(const std::string& text) = 0;

  // Returns whether `condition` is true on every rank.
  bool is_true_on_all(bool condition);

  // Waits until `has_ended`, which is called repeatedly, returns true. The function is for queued work of a GPU,
  // because a plain wait would never end if a rank is missing.
  virtual void wait_for(const std::function<bool()>& has_ended);
  virtual void wait_for(c10::Device device);  // for the work on its current stream; returns at once on a CPU

  // Returns "gloo", "nccl" or "symmetric_memory".
  virtual std::string backend() const = 0;

  // After this call tensors may be on this rank's GPU.
  virtual void connect_gpus(const GpuConnection& connection);

  // Returns zeros, (count) float32 for each of `counts`, on the device of `options`: memory that the backend sends
  // fastest. All ranks call this function with the same counts.
  virtual std::vector<at::Tensor> message_memory(const std::vector<int64_t>& counts, const at::TensorOptions& options);

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

 protected:
  at::Tensor empty_for_all(const at::Tensor& values) const;  // (size, ...)

 private:
  int64_t rank_;
  int64_t size_;
};

// The Ranks of a process that trains alone, which fails and reports for itself. It lives as long as the process.
Ranks& sole_rank();

// Marks this process as writing files during its lifetime.
class WritingFiles {
 public:
  explicit WritingFiles(Ranks& ranks) : ranks_(ranks) { ranks_.set_writing(true); }
  ~WritingFiles() { ranks_.set_writing(false); }
  WritingFiles(const WritingFiles&) = delete;
  WritingFiles& operator=(const WritingFiles&) = delete;

 private:
  Ranks& ranks_;
};

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
