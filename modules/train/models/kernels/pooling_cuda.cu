// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "layers/kernels/launch.h"
#include "train/models/kernels/pooling.h"

namespace rnnlab::kernels {
namespace {

constexpr uint32_t kPixelsOfThread = 4;  // in the forward pass
constexpr uint32_t kPixelsOfRun = 64;

// Pools one channel. Writes the choice and returns the value.
template <class T>
__device__ Accumulation<T> pool_pixel(const PoolForward& work, const PixelPlace& place, uint32_t channel,
                                      Accumulation<T> bias) {
  const int64_t num_channels = work.shape.num_channels;
  const int64_t below = work.shape.num_columns * num_channels;
  const auto value = [&](int64_t offset) { return load<T>(work.values, place.value + offset + channel) + bias; };
  const auto largest = largest_of(value(0), value(num_channels), value(below), value(below + num_channels));
  work.choices[place.choice + channel] = largest.choice;
  return largest.value;
}

template <class T>
__global__ void __launch_bounds__(kLanes* kWarps) pool_kernel(const PoolForward work) {
  wait_for_work_ahead();
  const uint32_t channel = blockIdx.y * kLanes + threadIdx.x;
  if (channel >= work.shape.num_channels) return;
  const auto bias = load<Accumulation<T>>(work.bias, channel);
  const uint32_t count = num_pixels(work.shape);
  for (uint32_t pixel = blockIdx.x * kWarps + threadIdx.y; pixel < count; pixel += gridDim.x * kWarps) {
    const PixelPlace place = place_of(work.shape, work.strides, pixel);
    store<T>(work.pooled, place.pooled + channel * work.strides.channel, pool_pixel<T>(work, place, channel, bias));
  }
}

__host__ __device__ uint32_t runs_of_image(const PoolShape& shape) {
  return (pixels_of_image(shape) + kPixelsOfRun - 1) / kPixelsOfRun;
}

// Pools into results with adjacent pixels of a channel. A block takes 32 channels of a run of pixels of an image and
// transposes them in shared memory, so that its writes are adjacent.
template <class T>
__global__ void __launch_bounds__(kLanes* kWarps) pool_turned_kernel(const PoolForward work) {
  wait_for_work_ahead();
  __shared__ T pooled[kLanes][kPixelsOfRun + 1];
  const uint32_t image = blockIdx.x / runs_of_image(work.shape);
  const uint32_t first = blockIdx.x % runs_of_image(work.shape) * kPixelsOfRun;
  const uint32_t count = min(kPixelsOfRun, pixels_of_image(work.shape) - first);
  const uint32_t first_channel = blockIdx.y * kLanes, channel = first_channel + threadIdx.x;
  if (channel < work.shape.num_channels) {
    const auto bias = load<Accumulation<T>>(work.bias, channel);
    for (uint32_t pixel = threadIdx.y; pixel < count; pixel += kWarps) {
      const auto place = place_of(work.shape, work.strides, image * pixels_of_image(work.shape) + first + pixel);
      pooled[threadIdx.x][pixel] = static_cast<T>(pool_pixel<T>(work, place, channel, bias));
    }
  }
  __syncthreads();
  const uint32_t num_channels = min(kLanes, work.shape.num_channels - first_channel);
  for (uint32_t i = threadIdx.y * kLanes + threadIdx.x; i < num_channels * count; i += kLanes * kWarps) {
    const int64_t place = image * work.strides.image + (first_channel + i / count) * work.strides.channel +
                          (first + i % count) * work.strides.pixel;
    static_cast<T*>(work.pooled)[place] = pooled[i / count][i % count];
  }
}

// Each block computes one part of the pixels.
template <class T>
__global__ void __launch_bounds__(kLanes* kWarps) spread_kernel(const PoolBackward work) {
  wait_for_work_ahead();
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
  const dim3 threads(kLanes, kWarps);
  const uint32_t groups = groups_of_channels(work.shape);
  const uint32_t blocks = (num_pixels(work.shape) + kPixelsOfBlock - 1) / kPixelsOfBlock;
  const uint32_t runs = work.shape.num_images * runs_of_image(work.shape);
  if (work.strides.channel == 1)
    launch_dependent(pool_kernel<T>, dim3(blocks, groups), threads, 0, stream, work);
  else
    launch_dependent(pool_turned_kernel<T>, dim3(runs, groups), threads, 0, stream, work);
}

template <class T>
void start(const PoolBackward& work, cudaStream_t stream) {
  launch_dependent(spread_kernel<T>, dim3(work.num_parts, groups_of_channels(work.shape)), dim3(kLanes, kWarps), 0,
                   stream, work);
}

template <class Work>
void start_typed(const Work& work, cudaStream_t stream) {
  with_cuda_type(work.shape.type, [&](auto element) { start<decltype(element)>(work, stream); });
  require_started("a pooling kernel", kWithoutImageKernels);
}

}  // namespace

void run(const PoolForward& work, cudaStream_t stream) { start_typed(work, stream); }
void run(const PoolBackward& work, cudaStream_t stream) { start_typed(work, stream); }

}  // namespace rnnlab::kernels
