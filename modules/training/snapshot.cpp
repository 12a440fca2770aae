#include "training/snapshot.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "base/error.h"

namespace rnnlab {

std::vector<NamedTensor> copied_to_host(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> copies;
  for (const auto& [name, tensor] : tensors) {
    const auto options = tensor.options().device(at::kCPU);
    copies.push_back({name, tensor.detach().to(options, /*non_blocking=*/false, /*copy=*/true).contiguous()});
  }
  return copies;
}

void copy_tensors(const std::vector<NamedTensor>& from, const std::vector<NamedTensor>& to) {
  const at::NoGradGuard no_grad;
  RNNLAB_INVARIANT(from.size() == to.size(), "another number of tensors");
  for (const auto& [name, tensor] : to) {
    const auto same = std::ranges::find(from, name, &NamedTensor::name);
    RNNLAB_INVARIANT(same != from.end() && same->tensor.sizes() == tensor.sizes(), name);
    at::Tensor(tensor).copy_(same->tensor);
  }
}

}  // namespace rnnlab
