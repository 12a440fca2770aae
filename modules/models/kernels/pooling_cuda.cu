#include <algorithm>

#include "models/kernels/launch.h"
#include "models/kernels/pooling_unit.h"

namespace rnnlab::kernels {
namespace {

constexpr uint32_t kPixelsOfThread = 4;  // forward

template <class T>
__global__ void __launch_bounds__(kLanes* kWarps) pool_kernel(const PoolForward work) {
  const uint32_t channel = blockIdx.y * kLanes + threadIdx.x;
  if (channel >= work.shape.num_channels) return;
  const int64_t num_channels = work.shape.num_channels;
  const int64_t below = work.shape.num_columns * num_channels;
  const auto bias = load<Accumulation<T>>(work.bias, channel);
  const uint32_t count = num_pixels(work.shape);
  for (uint32_t pixel = blockIdx.x * kWarps + threadIdx.y; pixel < count; pixel += gridDim.x * kWarps) {
    const PixelPlace place = place_of(work.shape, work.strides, pixel);
    const auto value = [&](int64_t offset) { return load<T>(work.values, place.value + offset + channel) + bias; };
    const auto largest = largest_of(value(0), value(num_channels), value(below), value(below + num_channels));
    store<T>(work.pooled, place.pooled + channel * work.strides.channel, largest.value);
    work.choices[place.choice + channel] = largest.choice;
  }
}

// A block a part of the pixels.
template <class T>
__global__ void __launch_bounds__(kLanes* kWarps) spread_kernel(const PoolBackward work) {
  using Real = Accumulation<T>;
  __shared__ Real sums[kWarps][kLanes];
  const uint32_t channel = blockIdx.y * kLanes + threadIdx.x;
  const bool is_channel = channel < work.shape.num_channels;
  const int64_t num_channels = work.shape.num_channels;
  const int64_t below = work.shape.num_columns * num_channels;
  const uint32_t count = is_channel ? num_pixels(work.shape) : 0;
  Real sum = 0;
  for (uint32_t pixel = blockIdx.x * kWarps + threadIdx.y; pixel < count; pixel += gridDim.x * kWarps) {
    const PixelPlace place = place_of(work.shape, work.strides, pixel);
    const Real value = load<T>(work.pooled_gradient, place.pooled + channel * work.strides.channel);
    const uint8_t choice = work.choices[place.choice + channel];
    const int64_t first = place.value + channel;
    store<T>(work.gradient, first, choice == 0 ? value : Real(0));
    store<T>(work.gradient, first + num_channels, choice == 1 ? value : Real(0));
    store<T>(work.gradient, first + below, choice == 2 ? value : Real(0));
    store<T>(work.gradient, first + below + num_channels, choice == 3 ? value : Real(0));
    sum += choice == kNoneChosen ? Real(0) : value;
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || !is_channel) return;
  for (uint32_t warp = 1; warp < kWarps; ++warp) sum += sums[warp][threadIdx.x];
  store<Real>(work.bias_gradient_parts, blockIdx.x * num_channels + channel, sum);
}

uint32_t groups_of_channels(const PoolShape& shape) { return (shape.num_channels + kLanes - 1) / kLanes; }

template <class T>
void start(const PoolForward& work, cudaStream_t stream) {
  constexpr uint32_t kPixelsOfBlock = kWarps * kPixelsOfThread;
  const uint32_t blocks = (num_pixels(work.shape) + kPixelsOfBlock - 1) / kPixelsOfBlock;
  pool_kernel<T><<<dim3(blocks, groups_of_channels(work.shape)), dim3(kLanes, kWarps), 0, stream>>>(work);
}

template <class T>
void start(const PoolBackward& work, cudaStream_t stream) {
  spread_kernel<T><<<dim3(work.num_parts, groups_of_channels(work.shape)), dim3(kLanes, kWarps), 0, stream>>>(work);
}

template <class Work>
void start_typed(const Work& work, cudaStream_t stream) {
  with_element_type(work.shape.type, [&](auto element) { start<decltype(element)>(work, stream); });
  require_started("a pooling kernel");
}

}  // namespace

void run(const PoolForward& work, cudaStream_t stream) { start_typed(work, stream); }
void run(const PoolBackward& work, cudaStream_t stream) { start_typed(work, stream); }

}  // namespace rnnlab::kernels
