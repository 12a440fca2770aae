// SPDX-License-Identifier: Apache-2.0
// Decides which of this build's own kernels and which layers a GPU supports. All code with own kernels asks
// has_own_kernels() and uses LibTorch's operators if it returns false. If a layer consists of own kernels that
// are missing, unsupported_reason has a message, and the run ends before it begins.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DeviceGuard.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "recurrent/kernels/own_code.h"
#include "recurrent/layer_kind.h"

namespace rnnlab {

// Stores the answers to a question about GPUs, one for each GPU, because asking takes longer than a launch.
class DeviceAnswers {
 public:
  // Returns ask(), a bool, which is called with the device as the current one. If ask() throws, it is called again next
  // time. Any thread may call this function.
  template <class Ask>
  bool of(c10::Device device, const Ask& ask) {
    const std::lock_guard lock(mutex_);
    if (const auto answer = known_.find(device.index()); answer != known_.end()) return answer->second;
    const c10::DeviceGuard guard(device);
    return known_[device.index()] = ask();
  }

 private:
  std::mutex mutex_;
  std::map<c10::DeviceIndex, bool> known_;
};

using kernels::Capability;

struct Gpu {
  std::string name;
  Capability capability;
  bool has_own_kernels = false;  // whether this build has code for it
};

// Returns whether this build has code of its own kernels for this GPU; false for a CPU. CUDA is asked once for each
// GPU.
bool has_own_kernels(c10::Device device);

// Requires a GPU that exists.
Gpu gpu_of(c10::Device device);

// Returns why `kind` does not run on a GPU, with its requirement and the GPU's property; nothing if it runs. The
// options and the class of numbers are not checked.
std::optional<std::string> unsupported_reason(LayerKind kind, const Gpu& gpu);

// Returns why `kind` has no kernels for layers of this size in this precision on this GPU; nothing if it has kernels.
std::optional<std::string> unsupported_size(LayerKind kind, const RecurrentOptions& options, Precision precision,
                                            const Gpu& gpu);

// Returns why kernels of `kind` cannot be compiled on this machine, for any GPU; nothing if they can or `kind` has
// none.
std::optional<std::string> why_no_compiler(LayerKind kind);

// Returns why `kind` does not run on an existing device, for one of the reasons above.
std::optional<std::string> unsupported_reason(LayerKind kind, c10::Device device);

// Returns what the user can do if has_own_kernels is false, as the end of a sentence.
std::string how_to_get_own_kernels(const Gpu& gpu);

}  // namespace rnnlab
