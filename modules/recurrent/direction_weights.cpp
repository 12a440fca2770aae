#include "recurrent/direction_weights.h"

#include <ATen/autocast_mode.h>

namespace rnnlab {

at::Tensor in_product_type(const at::Tensor& tensor) {
  const auto device = tensor.device().type();
  if (!at::autocast::is_autocast_enabled(device)) return tensor;
  return at::autocast::cached_cast(at::autocast::get_autocast_dtype(device), tensor, device);
}

DirectionWeights direction_weights(const std::vector<at::Tensor>& weights, size_t index) {
  const at::Tensor* first = weights.data() + index * kParametersPerDirection;
  return {in_product_type(first[0]), in_product_type(first[1]), in_product_type(first[2]), in_product_type(first[3])};
}

}  // namespace rnnlab
