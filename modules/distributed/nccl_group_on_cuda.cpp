// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/cuda/MemPool.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <torch/csrc/distributed/c10d/symm_mem/SymmetricMemory.hpp>
#include <utility>
#include <vector>

#include "distributed/nccl_group.h"

namespace rnnlab {
namespace {

// Sets variables that LibTorch and NCCL read while they connect. The destructor restores the variables, because the
// recorded environment of a run is the one that the user has set. Variables of NCCL that the user has set are kept.
class EnvironmentOverrides {
 public:
  explicit EnvironmentOverrides(const GpuGroupOptions& options) {
    // LibTorch's own watchdog would end the process after ten minutes, and it does not detect operations of graphs. The
    // ranks watch each other through their store instead (WaitLimit).
    for (const char* name :
         {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ENABLE_MONITORING", "TORCH_NCCL_DUMP_ON_TIMEOUT",
          "TORCH_NCCL_PROPAGATE_ERROR", "TORCH_NCCL_TRACE_BUFFER_SIZE"})
      set(name, "0");  // also under torchrun, which sets the first one
    if (options.is_one_host && std::getenv("NCCL_SOCKET_IFNAME") == nullptr) set("NCCL_SOCKET_IFNAME", "lo");
    // Streams order all operations, so NCCL need not order those of graphs and others itself.
    if (std::getenv("NCCL_GRAPH_MIXING_SUPPORT") == nullptr) set("NCCL_GRAPH_MIXING_SUPPORT", "0");
    if (!options.is_shared) return;
    set("NCCL_HOSTID", fmt::format("rank{}", options.rank));
    set("NCCL_P2P_DISABLE", "1");
    set("NCCL_SHM_DISABLE", "1");
  }
  ~EnvironmentOverrides() {
    for (const auto& [name, before] : before_) {
      if (before)
        ::setenv(name, before->c_str(), /*overwrite=*/1);
      else
        ::unsetenv(name);
    }
  }
  EnvironmentOverrides(const EnvironmentOverrides&) = delete;
  EnvironmentOverrides& operator=(const EnvironmentOverrides&) = delete;

 private:
  void set(const char* name, const std::string& value) {
    const char* before = std::getenv(name);
    before_.emplace_back(name, before == nullptr ? std::nullopt : std::optional<std::string>(before));
    ::setenv(name, value.c_str(), /*overwrite=*/1);
  }

  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

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
    const EnvironmentOverrides overrides(options);
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
    if (const SharedMessage* message = shared_message_of(values)) return add_other_ranks(*message);
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

  std::optional<at::Tensor> registered_zeros(int64_t count) override {
    if (!can_register_) return std::nullopt;
    const at::Tensor zeros = exchange_ == ExchangeKind::kSymmetricMemory ? symmetric_zeros(count) : window_zeros(count);
    c10::cuda::device_synchronize();  // other streams use it
    return zeros;
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

  // NCCL finds the memory of other GPUs through a window that all ranks make together (ncclCommWindowRegister).
  at::Tensor window_zeros(int64_t count) {
    using Allocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;
    const auto allocator = std::dynamic_pointer_cast<Allocator>(group_->getMemAllocator());
    auto& pool = *pools_.emplace_back(std::make_unique<at::cuda::MemPool>(allocator));
    at::Tensor zeros;
    {
      const AllocationToPool allocation(device_, pool.id());
      zeros = at::zeros({count}, options());
    }
    group_->registerMemPool(&pool, /*symm=*/true);
    return zeros;
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
    std::vector<at::Tensor> of_ranks;  // in the memory of their GPUs
    std::vector<at::Tensor> copies;    // of the messages of other ranks; empty if the message is small
  };

  at::Tensor symmetric_zeros(int64_t count) {
    SharedMessage message;
    message.own = c10d::symmetric_memory::empty_strided_p2p({count}, {1}, at::kFloat, device_, name_, std::nullopt);
    message.memory = c10d::symmetric_memory::rendezvous(message.own, name_);
    for (int64_t rank = 0; rank < size_; ++rank) {
      const bool is_own = rank == rank_;
      message.of_ranks.push_back(is_own ? message.own
                                        : message.memory->get_buffer(static_cast<int>(rank), {count}, at::kFloat, 0));
      if (count >= kLeastLarge) message.copies.push_back(is_own ? message.own : at::empty({count}, options()));
    }
    messages_.push_back(message);
    return message.own.zero_();
  }

  const SharedMessage* shared_message_of(const at::Tensor& values) const {
    const auto found =
        std::ranges::find_if(messages_, [&](const SharedMessage& message) { return message.own.is_alias_of(values); });
    return found == messages_.end() ? nullptr : &*found;
  }

  // Copy engines fetch large messages, so that kernels keep all SMs meanwhile. All ranks add in the order of ranks.
  void add_other_ranks(const SharedMessage& message) const {
    if (message.copies.empty()) return add_by_kernel(message.own);
    constexpr int kAreWritten = 0, kAreRead = 1;  // channels of the barriers
    constexpr size_t kNoLimit = 0;                // WaitLimit limits the waits
    message.memory->barrier(kAreWritten, kNoLimit);
    for (size_t i = 0; i < message.copies.size(); ++i)
      if (!message.copies[i].is_same(message.own)) message.copies[i].copy_(message.of_ranks[i], /*non_blocking=*/true);
    message.memory->barrier(kAreRead, kNoLimit);
    at::Tensor sum = message.copies.front(), own = message.own;
    for (size_t i = 1; i + 1 < message.copies.size(); ++i) sum.add_(message.copies[i]);
    at::add_out(own, sum, message.copies.back());
  }

  void add_by_kernel(const at::Tensor& values) const {
    static const auto sum = c10::Dispatcher::singleton().findSchemaOrThrow("symm_mem::two_shot_all_reduce_", "");
    c10::Stack stack{values, "sum", name_};
    sum.callBoxed(stack);
  }

  at::TensorOptions options() const { return at::TensorOptions().device(device_).dtype(at::kFloat); }

  static void wait_in_stream(const c10::intrusive_ptr<c10d::Work>& work) {
    if (work) work->wait();
  }

  static constexpr int64_t kLeastLarge = 1 << 18;  // number of floats of a large message

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
