#include "recurrent/persistent/factor.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAStream.h>

#include "base/error.h"
#include "recurrent/kernels/persistent/scaled_half.h"
#include "recurrent/persistent/persistent_launch.h"
#include "recurrent/started_on_device.h"

namespace rnnlab {

namespace {

// For loads of 16 bytes.
bool is_aligned(const at::Tensor& matrix) { return reinterpret_cast<uintptr_t>(matrix.const_data_ptr()) % 16 == 0; }

}  // namespace

// Smaller ones do not make up for the conversion, odd ones run on slow kernels, and what does not fit into L2 is read
// from memory twice more.
bool gains_by_half(const at::Tensor& left, const at::Tensor& right) {
  constexpr double kLeastMultiplications = 2e9;  // about 15 us in TF32 on an H200
  constexpr int64_t kMostNumbers = 1 << 24;      // 64 MB, about an H200's L2
  if (left.scalar_type() != at::kFloat || !rounds_to_tf32()) return false;
  if (!is_aligned(left) || !is_aligned(right)) return false;
  if (left.size(0) % 8 != 0 || left.size(1) % 8 != 0 || right.size(1) % 8 != 0) return false;
  const double multiplications = static_cast<double>(left.numel()) * static_cast<double>(right.size(1));
  return multiplications >= kLeastMultiplications && left.numel() <= kMostNumbers && right.numel() <= kMostNumbers;
}

Factor scaled_half(const at::Tensor& matrix) {
  RNNLAB_INVARIANT(matrix.is_contiguous() && matrix.numel() % 4 == 0, "a dense matrix of whole vectors");
  Factor factor = {at::empty(matrix.sizes(), matrix.options().dtype(at::kHalf)), at::empty({}, matrix.options())};
  at::Tensor largest = at::zeros({1}, matrix.options().dtype(at::kInt));
  started_on_device([&] {
    kernels::scale_to_half({.numbers = matrix.const_data_ptr<float>(),
                            .count = matrix.numel(),
                            .half = factor.values.data_ptr(),
                            .largest = largest.mutable_data_ptr<int32_t>(),
                            .unscale = factor.unscale.mutable_data_ptr<float>()},
                           c10::cuda::getCurrentCUDAStream(matrix.device().index()).stream());
  });
  return factor;
}

void multiply_scaled(at::Tensor& out, const Factor& left, const Factor& right) {
  at::mm_out(out, left.values, right.values, at::kFloat);
  out.mul_(left.unscale.mul(right.unscale));
}

}  // namespace rnnlab
