// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
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
    if (!options.shares_gpu) return;
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

class NcclGroup final : public GpuGroup {
 public:
  NcclGroup(const c10::intrusive_ptr<c10d::Store>& store, const GpuGroupOptions& options) : device_(options.device) {
    c10::cuda::set_device(device_.index());
    const EnvironmentOverrides overrides(options);
    group_ = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, static_cast<int>(options.rank),
                                                         static_cast<int>(options.size),
                                                         c10d::ProcessGroupNCCL::Options::create());
    group_->eagerConnectSingleDevice(device_);
    // The first operation allocates memory, and an operation within a capture must not.
    at::Tensor one = at::ones({1}, at::TensorOptions().device(device_).dtype(at::kFloat));
    all_reduce(one);
    c10::cuda::device_synchronize();
  }

  ~NcclGroup() override { abort(); }

  void all_reduce(at::Tensor& values) override {
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

  void abort() noexcept override {
    if (is_over_.exchange(true)) return;
    try {
      group_->abort();
    } catch (const std::exception&) {  // the process ends after this anyway
      return;
    }
  }

  bool is_capturing() const override {
    return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
  }

  void make_current() override { c10::cuda::set_device(device_.index()); }

 private:
  static void wait_in_stream(const c10::intrusive_ptr<c10d::Work>& work) {
    if (work) work->wait();
  }

  c10::Device device_;
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
  std::atomic<bool> is_over_ = false;
};

std::unique_ptr<GpuGroup> make_group(const c10::intrusive_ptr<c10d::Store>& store, const GpuGroupOptions& options) {
  return std::make_unique<NcclGroup>(store, options);
}

[[maybe_unused]] const bool kNcclFunctions = make_nccl_group.define(make_group);

}  // namespace
}  // namespace rnnlab
