// The processes that train one run together, as the code that trains sees them: a few collective operations, in which
// each of them takes part at the same place of its program. Tensors on CPUs travel by LibTorch's ProcessGroupGloo, those
// on GPUs by NCCL (GpuGroup). A run of one process has no Ranks at all.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
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

// All operations but tell_failure() and throw_if_failed() are collective. RankFailed where another process has failed,
// is gone, or does not come within the timeout. On a GPU they are queued on the current stream, and a failure is only
// known when the device has been waited for: by throw_if_failed().
class Ranks {
 public:
  Ranks(int64_t rank, int64_t size) : rank_(rank), size_(size) {}
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int64_t rank() const { return rank_; }
  int64_t size() const { return size_; }
  bool is_first() const { return rank_ == 0; }

  virtual std::string engine() const = 0;  // "gloo"

  // `values` becomes the sum over all ranks, with the same bits on each. Contiguous; the order of the sum is the
  // engine's.
  virtual void add_up(at::Tensor& values) = 0;

  // Every rank's `values`, in the order of ranks, into `all`: (size, ...), contiguous. The shape is the same on each.
  virtual void gather_into(const at::Tensor& values, const at::Tensor& all) = 0;
  at::Tensor gather(const at::Tensor& values);  // (size, ...)

  // Every rank's text, in the order of ranks, by the store.
  virtual std::vector<std::string> gather_texts(const std::string& text) = 0;

  // Whether `is_so` on every rank.
  bool is_so_on_all(bool is_so);

  // After a wait for the device: what was queued has not ended well where another process has failed since.
  virtual void throw_if_failed() {}

  // From here on tensors may be on this rank's GPU. No two ranks have the same one, unless `shares_gpu`.
  virtual void connect_gpus(c10::Device device, bool shares_gpu);

  // Before this process leaves the others: what they are to end with. The first failure counts.
  virtual void tell_failure(ExitCode exit_code, const std::string& message) noexcept = 0;

 private:
  int64_t rank_;
  int64_t size_;
};

struct RanksOptions {
  std::chrono::milliseconds timeout{30'000};         // of an operation
  std::chrono::milliseconds start_timeout{120'000};  // for all to come
  std::string name;                                  // of the run: ranks of another one do not meet these in the store
};

// Waits until all ranks have come. They talk over the loopback interface if they are on one host, else over the one
// that the host's name leads to. UserError kDevice where the store cannot be reached or some do not come, naming them.
std::unique_ptr<Ranks> make_gloo_ranks(const Launch& launch, const RanksOptions& options);

// What processes of one host meet by: a store that listens on the loopback interface alone. It ends with this.
class LocalStore {
 public:
  LocalStore();  // UserError kDevice where no socket can be opened
  ~LocalStore();
  int64_t port() const;

  // For a rank that cannot tell it any more: as Ranks::tell_failure of the run with this name.
  void tell_failure(const std::string& name_of_run, ExitCode exit_code, const std::string& message) noexcept;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace rnnlab
