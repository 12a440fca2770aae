#include "weights/network_weights.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

namespace rnnlab {

at::Tensor reordered(const at::Tensor& rows, const std::vector<int64_t>& order) {
  const std::vector<at::Tensor> blocks = rows.chunk(static_cast<int64_t>(order.size()), 0);
  std::vector<at::Tensor> taken;
  for (const int64_t index : order) taken.push_back(blocks[static_cast<size_t>(index)]);
  return at::cat(taken, 0);
}

DirectionWeights reordered(const DirectionWeights& weights, const std::vector<int64_t>& order) {
  return {reordered(weights.weight_ih, order), reordered(weights.weight_hh, order), reordered(weights.bias_ih, order),
          reordered(weights.bias_hh, order)};
}

DirectionWeights stacked(const DirectionWeights& first, const DirectionWeights& second) {
  return {at::cat({first.weight_ih, second.weight_ih}), at::cat({first.weight_hh, second.weight_hh}),
          at::cat({first.bias_ih, second.bias_ih}), at::cat({first.bias_hh, second.bias_hh})};
}

DirectionWeights rows_of(const DirectionWeights& weights, int64_t from, int64_t num_rows) {
  const auto rows = [&](const at::Tensor& tensor) { return tensor.narrow(0, from, num_rows); };
  return {rows(weights.weight_ih), rows(weights.weight_hh), rows(weights.bias_ih), rows(weights.bias_hh)};
}

at::Tensor half(const at::Tensor& bias) { return bias * 0.5; }

}  // namespace rnnlab
