// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/ranks/nccl_group.h"

namespace rnnlab {

// Sets variables that LibTorch and NCCL read while they connect. Variables of NCCL that the user has set are kept. The
// main thread must own the object, because no thread may change the environment while another one reads it.
class NcclVariables {
 public:
  NcclVariables(const GpuGroupOptions& options, const std::optional<std::string>& interface);

  // Call this function when the connection is made, because the recorded environment of a run is the one that the user
  // has set.
  void restore() const;

 private:
  void set(const char* name, const std::string& value);

  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

}  // namespace rnnlab
