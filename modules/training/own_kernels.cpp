#include "training/own_kernels.h"

#include <algorithm>

#include "recurrent/device_answers.h"
#include "training/cuda_functions.h"

namespace rnnlab {
namespace {

bool are_built_for(const at::Device& device) {
  static DeviceAnswers answers;
  return answers.of(device, has_training_kernels);
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
