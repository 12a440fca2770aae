#include "training/own_kernels.h"

#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "training/kernels/adam.h"

namespace rnnlab {
namespace {

// Asked once a device, for it may load the kernels there.
bool are_built_for(const at::Device& device) {
  static std::mutex mutex;
  static std::map<at::DeviceIndex, bool> known;
  const std::lock_guard lock(mutex);
  const auto [answer, is_new] = known.try_emplace(device.index(), false);
  if (!is_new) return answer->second;
  const c10::cuda::CUDAGuard guard(device);
  return answer->second = kernels::has_training_kernels();
}

}  // namespace

bool suit_own_kernels(at::TensorList tensors) {
  if (tensors.empty()) return false;
  const at::Device device = tensors.front().device();
  const bool suit = std::ranges::all_of(tensors, [&](const at::Tensor& tensor) {
    return tensor.is_cuda() && tensor.device() == device && tensor.scalar_type() == at::kFloat &&
           tensor.is_non_overlapping_and_dense();
  });
  return suit && are_built_for(device);
}

}  // namespace rnnlab
