// SPDX-License-Identifier: Apache-2.0
// The GpuGroup of nccl_group.h, by NCCL and by symmetric memory; part of librnnlab_cuda.so.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/cuda/MemPool.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <torch/csrc/distributed/c10d/symm_mem/SymmetricMemory.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "train/ranks/nccl_group.h"
#include "train/ranks/ranks.h"

namespace rnnlab {
namespace {

// During its lifetime, tensors on the current stream are allocated in a pool.
class AllocationToPool {
 public:
  AllocationToPool(c10::Device device, c10::MempoolId_t pool) : device_(device), pool_(pool) {
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream(device.index()).stream();
    c10::cuda::CUDACachingAllocator::beginAllocateToPool(device.index(), pool,
                                                         [stream](cudaStream_t other) { return other == stream; });
  }
  ~AllocationToPool() { c10::cuda::CUDACachingAllocator::endAllocateToPool(device_.index(), pool_); }
  AllocationToPool(const AllocationToPool&) = delete;
  AllocationToPool& operator=(const AllocationToPool&) = delete;

 private:
  c10::Device device_;
  c10::MempoolId_t pool_;
};

class NcclGroup final : public GpuGroup {
 public:
  NcclGroup(const c10::intrusive_ptr<c10d::Store>& store, const GpuGroupOptions& options)
      : device_(options.device),
        can_register_(options.is_one_host && !options.is_shared),
        exchange_(options.exchange),
        rank_(options.rank),
        size_(options.size) {
    c10::cuda::set_device(device_.index());
    const int rank = static_cast<int>(options.rank), size = static_cast<int>(options.size);
    group_ = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, nccl_options(options.channels));
    group_->eagerConnectSingleDevice(device_);
    if (exchange_ == ExchangeKind::kSymmetricMemory) connect_symmetric_memory(store, rank, size);
    // The first operation allocates memory, and an operation within a capture must not.
    at::Tensor one = at::ones({1}, at::TensorOptions().device(device_).dtype(at::kFloat));
    all_reduce(one);
    c10::cuda::device_synchronize();
  }

  ~NcclGroup() override {
    const bool has_failed = is_over_;
    abort();
    if (has_failed) leave_symmetric_memory();
    if (!is_aborted_) static_cast<void>(group_.release());  // its destructor would throw the same exception
    if (named_group_) c10d::unregister_process_group(name_);
  }

  void all_reduce(at::Tensor& values) override {
    if (divides_sums() && is_message(values)) return add_up_divided(values);
    std::vector<at::Tensor> tensors{values};
    c10d::AllreduceOptions options;
    options.asyncOp = false;
    wait_in_stream(group_->allreduce(tensors, options));
  }

  void all_gather_into(const at::Tensor& values, const at::Tensor& all) override {
    c10d::AllgatherOptions options;
    options.asyncOp = false;
    at::Tensor input = values, output = all;
    wait_in_stream(group_->_allgather_base(output, input, options));
  }

  at::Tensor registrable_zeros(int64_t count) override {
    if (!can_register_) throw std::runtime_error("the GPUs are not of one host, or not one for each process");
    const bool is_symmetric = exchange_ == ExchangeKind::kSymmetricMemory;
    const at::Tensor zeros = is_symmetric ? symmetric_zeros(count) : zeros_in_pool(count);
    c10::cuda::device_synchronize();  // other streams use it
    return zeros;
  }

  void register_memory(const at::Tensor& zeros) override {
    if (exchange_ == ExchangeKind::kSymmetricMemory)
      messages_.push_back(shared_message(zeros));
    else  // NCCL finds the memory of other GPUs through a window (ncclCommWindowRegister)
      group_->registerMemPool(pools_.back().get(), /*symm=*/true);
    c10::cuda::device_synchronize();
  }

  bool gives_sources() const override { return exchange_ == ExchangeKind::kSymmetricMemory && !divides_sums(); }

  MessageSources sources_of(const at::Tensor& message) override { return shared_message_of(message).sources; }

  void announce(const at::Tensor& message) override {
    shared_message_of(message).memory->barrier(kAreWritten, kNoLimit);
  }

  // Copy engines copy between GPUs, so that kernels keep all SMs. Each rank begins at the rank after it, so that they
  // do not all read from the same GPU.
  void fetch(const at::Tensor& message) override {
    const MessageSources& sources = shared_message_of(message).sources;
    for (int64_t i = 1; i < size_; ++i) {
      const auto rank = static_cast<size_t>((rank_ + i) % size_);
      const at::Tensor& of_rank = sources.of_ranks[rank];
      const at::Tensor& fetched = sources.fetched[rank];
      if (!fetched.is_same(of_rank)) fetched.copy_(of_rank, /*non_blocking=*/true);
    }
  }

  void end_reads() override {
    RNNLAB_INVARIANT(!messages_.empty(), "only messages in symmetric memory are read");
    messages_.back().memory->barrier(kAreRead, kNoLimit);
  }

  int64_t least_registered_count() const override {
    return exchange_ == ExchangeKind::kSymmetricMemory ? 1 : kLeastLarge;
  }

  void abort() noexcept override {
    if (is_over_.exchange(true)) return;
    try {
      group_->abort();
      is_aborted_ = true;
    } catch (const std::exception&) {  // the process ends after this anyway
      return;
    }
  }

  std::string error() const override {
    // LibTorch has this function only for its own watchdog.
    static const auto ask =
        reinterpret_cast<decltype(&ncclCommGetAsyncError)>(::dlsym(RTLD_DEFAULT, "ncclCommGetAsyncError"));
    if (ask == nullptr || is_over_) return "";
    const c10::cuda::CUDAGuard guard(device_);  // LibTorch finds the communicator by the current device
    // NOLINTNEXTLINE(performance-no-int-to-ptr): LibTorch gives the address as a number
    const auto communicator = reinterpret_cast<ncclComm_t>(group_->getCommPtr());
    ncclResult_t result = ncclSuccess;
    const ncclResult_t answer = communicator == nullptr ? ncclSuccess : ask(communicator, &result);
    const bool is_working = answer == ncclSuccess && (result == ncclSuccess || result == ncclInProgress);
    return is_working ? "" : c10d::ncclGetErrorWithVersion(answer == ncclSuccess ? result : answer);
  }

  bool is_capturing() const override {
    return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
  }

  void make_current() override { c10::cuda::set_device(device_.index()); }

 private:
  static c10::intrusive_ptr<c10d::ProcessGroupNCCL::Options> nccl_options(int64_t most_channels) {
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->config.minCTAs = 1;
    options->config.maxCTAs = static_cast<int>(most_channels);
    return options;
  }

  at::Tensor zeros_in_pool(int64_t count) {
    using Allocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;
    const auto allocator = std::dynamic_pointer_cast<Allocator>(group_->getMemAllocator());
    auto& pool = *pools_.emplace_back(std::make_unique<at::cuda::MemPool>(allocator));
    const AllocationToPool allocation(device_, pool.id());
    return at::zeros({count}, options());
  }

  // abort() does not end kernels that wait in symmetric memory, and freeing this memory would wait for them. So it
  // stays until the process ends by _exit(2).
  void leave_symmetric_memory() {
    if (messages_.empty()) return;
    static_cast<void>(new std::vector<SharedMessage>(std::move(messages_)));
    static_cast<void>(c10::intrusive_ptr<c10d::ProcessGroup>(named_group_).release());
  }

  // LibTorch finds the ranks of its symmetric memory by a name of the process.
  void connect_symmetric_memory(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size) {
    static int64_t number = 0;
    name_ = fmt::format("rnnlab{}", ++number);
    named_group_ = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
    named_group_->setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::BackendType::NCCL, group_);
    named_group_->setGroupName(name_);
    c10d::register_process_group(name_, named_group_);
    c10d::symmetric_memory::set_group_info(name_, rank, size, store);
  }

  // A message in symmetric memory.
  struct SharedMessage {
    at::Tensor own;
    c10::intrusive_ptr<c10d::symmetric_memory::SymmetricMemory> memory;
    MessageSources sources;
  };

  at::Tensor symmetric_zeros(int64_t count) const {
    return c10d::symmetric_memory::empty_strided_p2p({count}, {1}, at::kFloat, device_, name_, std::nullopt).zero_();
  }

  SharedMessage shared_message(const at::Tensor& own) const {
    const int64_t count = own.numel();
    SharedMessage message{.own = own, .memory = c10d::symmetric_memory::rendezvous(own, name_), .sources = {}};
    for (int rank = 0; rank < size_; ++rank) {
      const bool is_copied = rank != rank_ && count >= kLeastLarge;
      const at::Tensor of_rank = rank == rank_ ? own : message.memory->get_buffer(rank, {count}, at::kFloat, 0);
      message.sources.of_ranks.push_back(of_rank);
      message.sources.fetched.push_back(is_copied ? at::empty({count}, options()) : of_rank);
    }
    return message;
  }

  const SharedMessage& shared_message_of(const at::Tensor& values) const {
    const auto found =
        std::ranges::find_if(messages_, [&](const SharedMessage& message) { return message.own.is_alias_of(values); });
    RNNLAB_INVARIANT(found != messages_.end(), "only messages in symmetric memory are fetched");
    return *found;
  }

  at::TensorOptions options() const { return at::TensorOptions().device(device_).dtype(at::kFloat); }

  // LibTorch has a kernel for these numbers of GPUs that divides a sum among them: each GPU adds up a part of a
  // message, and then reads the parts of the others. It reads 2 - 2 / size times the message, instead of size - 1
  // times. For two GPUs that is the same.
  bool divides_sums() const { return exchange_ == ExchangeKind::kSymmetricMemory && (size_ == 4 || size_ == 8); }

  bool is_message(const at::Tensor& values) const {
    return std::ranges::any_of(messages_, [&](const SharedMessage& one) { return one.own.is_alias_of(values); });
  }

  void add_up_divided(const at::Tensor& message) const {
    using Sum = at::Tensor(at::Tensor, std::string, std::string);
    static const auto sum =
        c10::Dispatcher::singleton().findSchemaOrThrow("symm_mem::two_shot_all_reduce_", "").typed<Sum>();
    sum.call(message, "sum", name_);
  }

  static void wait_in_stream(const c10::intrusive_ptr<c10d::Work>& work) {
    if (work) work->wait();
  }

  static constexpr int64_t kLeastLarge = 1 << 18;      // number of floats of a large message
  static constexpr int kAreWritten = 0, kAreRead = 1;  // channels of the barriers
  static constexpr size_t kNoLimit = 0;                // WaitLimit limits the waits

  c10::Device device_;
  bool can_register_;
  ExchangeKind exchange_;
  int64_t rank_, size_;
  std::string name_;                                       // of named_group_
  std::vector<std::unique_ptr<at::cuda::MemPool>> pools_;  // with windows
  std::vector<SharedMessage> messages_;
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
  c10::intrusive_ptr<c10d::ProcessGroup> named_group_;  // for symmetric memory
  std::atomic<bool> is_over_ = false;
  std::atomic<bool> is_aborted_ = false;
};

std::unique_ptr<GpuGroup> make_group(const c10::intrusive_ptr<c10d::Store>& store, const GpuGroupOptions& options) {
  return std::make_unique<NcclGroup>(store, options);
}

[[maybe_unused]] const bool kNcclFunctions = make_nccl_group.define(make_group);

}  // namespace
}  // namespace rnnlab
