#include "training/own_kernels.h"

#include <algorithm>

#include "recurrent/gpu_support.h"

namespace rnnlab {

bool suit_own_kernels(at::TensorList tensors) {
  if (tensors.empty()) return false;
  const at::Device device = tensors.front().device();
  const bool suit = std::ranges::all_of(tensors, [&](const at::Tensor& tensor) {
    return tensor.is_cuda() && tensor.device() == device && tensor.scalar_type() == at::kFloat &&
           tensor.is_non_overlapping_and_dense();
  });
  return suit && has_own_kernels(device);
}

}  // namespace rnnlab
