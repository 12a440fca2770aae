// The processes that train one run together, as the code that trains sees them: a few collective operations, in which
// each of them takes part at the same place of its program. Tensors on CPUs travel by LibTorch's ProcessGroupGloo,
// those on GPUs by NCCL (GpuGroup). A run of one process has no Ranks at all.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "distributed/launch.h"

namespace rnnlab {

// Another rank ended the run: its exit code, and what it said.
class RankFailed : public UserError {
 public:
  using UserError::UserError;
};

// A failure that another process of the run tells the user, so this one only ends with its exit code.
class ToldElsewhere : public UserError {
 public:
  using UserError::UserError;
};

// add_up(), gather(), wait_for() and what is made of these are collective. On a GPU the first two are only queued, on
// the current stream, and it is wait_for() that fails. RankFailed where another process has failed, gives no sign of
// life for the timeout, or gives signs but does not come for so long without writing files.
class Ranks {
 public:
  Ranks(int64_t rank, int64_t size) : rank_(rank), size_(size) {}
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int64_t rank() const { return rank_; }
  int64_t size() const { return size_; }
  bool is_first() const { return rank_ == 0; }

  // `values` becomes the sum over all ranks, with the same bits on each. Contiguous; the order of the sum is the
  // engine's.
  virtual void add_up(at::Tensor& values) = 0;

  // Every rank's `values`, in the order of ranks, into `all`: (size, ...), contiguous. The shape is the same on each.
  virtual void gather_into(const at::Tensor& values, const at::Tensor& all) = 0;
  at::Tensor gather(const at::Tensor& values);  // (size, ...)

  // Every rank's text, in the order of ranks. A rank that gives signs of life has the start's timeout to come, because
  // what is agreed on in words may need loading or measuring first.
  virtual std::vector<std::string> gather_texts(const std::string& text) = 0;

  // Whether `is_so` on every rank.
  bool is_so_on_all(bool is_so);

  // Until `has_ended`, which is asked again and again: queued work of a GPU, which would wait for ever for a rank that
  // is gone.
  virtual void wait_for(const std::function<bool()>& has_ended);
  void wait_for(c10::Device device);  // for what is queued on its current stream; nothing on a CPU

  // "gloo" or "nccl"
  virtual std::string engine() const = 0;

  // From here on tensors may be on this rank's GPU. No two ranks have the same one, unless `shares_gpu`.
  virtual void connect_gpus(c10::Device device, bool shares_gpu);

  // For messages: the training step at which this process is.
  virtual void set_step(int64_t) {}

  // Until it is said to be over, the others wait for this process as long as it gives signs of life. May be nested.
  virtual void set_writing(bool) {}

  // Before this process leaves the others: what they are to end with. The first failure counts.
  virtual void tell_failure(ExitCode exit_code, const std::string& message) noexcept = 0;

  // Whether this process is the one of its run that tells the user why it ended: rank 0, or another one if rank 0 does
  // not within three seconds.
  virtual bool is_to_tell(const std::string& message) noexcept = 0;

 protected:
  at::Tensor empty_for_all(const at::Tensor& values) const;  // (size, ...)

 private:
  int64_t rank_;
  int64_t size_;
};

// Files are written while it lives. `ranks` may be null.
class WritingFiles {
 public:
  explicit WritingFiles(Ranks* ranks) : ranks_(ranks) {
    if (ranks_ != nullptr) ranks_->set_writing(true);
  }
  ~WritingFiles() {
    if (ranks_ != nullptr) ranks_->set_writing(false);
  }
  WritingFiles(const WritingFiles&) = delete;
  WritingFiles& operator=(const WritingFiles&) = delete;

 private:
  Ranks* ranks_;
};

struct RanksOptions {
  std::chrono::milliseconds timeout{30'000};         // without another rank in an operation
  std::chrono::milliseconds start_timeout{120'000};  // for all to come
  std::string name;                                  // of the run: ranks of another one do not meet these in the store
};

// Waits until all ranks have come. They talk over the loopback interface if they are on one host, else over the one
// that the host's name leads to. UserError kDevice where the store cannot be reached or some do not come, naming them.
//
// Rank 0 leaves last where it holds the store: its destructor waits for the others that still give signs of life.
std::unique_ptr<Ranks> make_gloo_ranks(const Launch& launch, const RanksOptions& options);

// For a process that fails before it can join the others: as tell_failure() and is_to_tell(), through a store that is
// opened for that and asked for a few seconds. True where nobody can be asked.
bool is_to_tell_before_joining(const Launch& launch, const std::string& name_of_run, const UserError& failure) noexcept;

// Whether an operation that will not end was left to a thread of its own, so that this process must end by _exit(2).
bool is_operation_left_behind();

// What processes of one host meet by: a store that listens on the loopback interface alone. It ends with this.
class LocalStore {
 public:
  LocalStore();  // UserError kDevice where no socket can be opened
  ~LocalStore();
  int64_t port() const;

  // For a rank that cannot tell it any more: as Ranks::tell_failure of the run with this name.
  void tell_failure(const std::string& name_of_run, int64_t rank, ExitCode exit_code,
                    const std::string& message) noexcept;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace rnnlab
