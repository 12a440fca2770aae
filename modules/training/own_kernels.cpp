#include "training/own_kernels.h"

#include <algorithm>

#include "training/kernels/adam.h"

namespace rnnlab {

bool suit_own_kernels(at::TensorList tensors) {
  if (tensors.empty()) return false;
  const at::Device device = tensors.front().device();
  const bool suit = std::ranges::all_of(tensors, [&](const at::Tensor& tensor) {
    return tensor.is_cuda() && tensor.device() == device && tensor.scalar_type() == at::kFloat &&
           tensor.is_non_overlapping_and_dense();
  });
  if (!suit) return false;
  static const bool is_built_for_it = kernels::has_training_kernels();
  return is_built_for_it;
}

}  // namespace rnnlab
