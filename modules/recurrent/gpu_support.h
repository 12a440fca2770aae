// What a GPU and this build's code for it leave of own kernels and of the layers. Every place that has own kernels asks
// has_own_kernels() and takes LibTorch's operators where there are none; layers that are made of own kernels are
// refused before a run begins.
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

// A question about GPUs that is asked once for each, since its answer takes longer than a launch.

class DeviceAnswers {
 public:
  // ask() -> bool, with the device as the current one. If it throws, the question is asked again next time. From any
  // thread.
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
  bool has_own_kernels = false;  // that this build has code for
};

// Whether this build has code of its own kernels for that GPU; not for a CPU. CUDA is asked once for each GPU.
bool has_own_kernels(c10::Device device);

// Requires a GPU that is there.
Gpu gpu_of(c10::Device device);

// Why `kind` does not run on a GPU, with what it needs and what is there; nothing where it does. The options and the
// class of numbers are not looked at.
std::optional<std::string> refusal(LayerKind kind, const Gpu& gpu);

// Why `kind` has no kernels for layers of that size on that GPU; nothing if it has some.
std::optional<std::string> refusal_of_size(LayerKind kind, int64_t hidden_size, const Gpu& gpu);

// Why no kernels of `kind` can be compiled on this machine, whatever its GPU; nothing if they can or `kind` has none.
std::optional<std::string> compiler_refusal(LayerKind kind);

// Why `kind` does not run on that device, which is there, for one of the reasons above.
std::optional<std::string> refusal(LayerKind kind, c10::Device device);

// What to do where has_own_kernels is false, as the end of a sentence.
std::string how_to_get_own_kernels(const Gpu& gpu);

}  // namespace rnnlab
