#include "data/gather.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace rnnlab {
namespace {

enum class Layout { kSampleMajor, kTimeMajor };

// (B, ...) or (T, B, ...) of a source (N, ...) or (N, T, ...).
std::vector<int64_t> batch_shape(const at::Tensor& source, Layout layout, int64_t batch_size) {
  std::vector<int64_t> shape = source.sizes().vec();
  shape[0] = batch_size;
  if (layout == Layout::kTimeMajor) std::swap(shape[0], shape[1]);
  return shape;
}

at::Tensor gather(const at::Tensor& source, Layout layout, std::span<const int64_t> order, const Allocate& allocate) {
  RNNLAB_INVARIANT(source.is_contiguous() && source.is_cpu(), "samples lie contiguous on the CPU");
  const auto batch_size = static_cast<int64_t>(order.size());
  at::Tensor out = allocate(batch_shape(source, layout, batch_size), source.scalar_type());
  const int64_t num_steps = layout == Layout::kTimeMajor ? source.size(1) : 1;
  const auto stride = static_cast<size_t>(sample_bytes(source));
  const size_t step_bytes = num_steps == 0 ? 0 : stride / static_cast<size_t>(num_steps);
  const auto* from = static_cast<const std::byte*>(source.const_data_ptr());
  auto* to = static_cast<std::byte*>(out.mutable_data_ptr());
  for (size_t b = 0; b < order.size(); ++b) {
    RNNLAB_INVARIANT(order[b] >= 0 && order[b] < source.size(0), "the order names a sample that is not there");
    const std::byte* sample = from + static_cast<size_t>(order[b]) * stride;
    for (size_t t = 0; t < static_cast<size_t>(num_steps); ++t) {
      std::memcpy(to + (t * order.size() + b) * step_bytes, sample + t * step_bytes, step_bytes);
    }
  }
  return out;
}

}  // namespace

int64_t sample_bytes(const at::Tensor& tensor) {
  return static_cast<int64_t>(tensor.nbytes()) / std::max<int64_t>(1, tensor.size(0));
}

at::Tensor allocate_plain(at::IntArrayRef shape, at::ScalarType type) { return at::empty(shape, type); }

Batch gather_batch(const Samples& samples, std::span<const int64_t> order, const Allocate& allocate) {
  const Layout target_layout = samples.has_target_per_step() ? Layout::kTimeMajor : Layout::kSampleMajor;
  Batch batch;
  batch.size = static_cast<int64_t>(order.size());
  batch.inputs = gather(samples.inputs, Layout::kTimeMajor, order, allocate);
  batch.targets = gather(samples.targets, target_layout, order, allocate);
  if (samples.lengths.defined()) batch.lengths = gather(samples.lengths, Layout::kSampleMajor, order, allocate_plain);
  return batch;
}

}  // namespace rnnlab
