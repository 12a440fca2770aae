// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/nccl_variables.h"

#include <fmt/format.h>

#include <cstdlib>

namespace rnnlab {

NcclVariables::NcclVariables(const GpuGroupOptions& options, const std::optional<std::string>& interface) {
  // LibTorch's own watchdog would end the process after ten minutes, and it does not detect operations of graphs. The
  // ranks watch each other through their store instead (WaitLimit).
  for (const char* name : {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ENABLE_MONITORING",
                           "TORCH_NCCL_DUMP_ON_TIMEOUT", "TORCH_NCCL_PROPAGATE_ERROR", "TORCH_NCCL_TRACE_BUFFER_SIZE"})
    set(name, "0");  // also under torchrun, which sets the first one
  const bool has_interface = std::getenv("NCCL_SOCKET_IFNAME") != nullptr;
  if (!has_interface && interface) set("NCCL_SOCKET_IFNAME", "=" + *interface);  // "=" means this name exactly
  if (!has_interface && !interface && options.is_one_host) set("NCCL_SOCKET_IFNAME", "lo");
  // Streams order all operations, so NCCL need not order those of graphs and others itself.
  if (std::getenv("NCCL_GRAPH_MIXING_SUPPORT") == nullptr) set("NCCL_GRAPH_MIXING_SUPPORT", "0");
  if (!options.is_shared) return;
  set("NCCL_HOSTID", fmt::format("rank{}", options.rank));
  set("NCCL_P2P_DISABLE", "1");
  set("NCCL_SHM_DISABLE", "1");
}

void NcclVariables::restore() const {
  for (const auto& [name, before] : before_) {
    if (before)
      ::setenv(name, before->c_str(), /*overwrite=*/1);
    else
      ::unsetenv(name);
  }
}

void NcclVariables::set(const char* name, const std::string& value) {
  const char* before = std::getenv(name);
  before_.emplace_back(name, before == nullptr ? std::nullopt : std::optional<std::string>(before));
  ::setenv(name, value.c_str(), /*overwrite=*/1);
}

}  // namespace rnnlab
