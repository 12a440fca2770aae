// SPDX-License-Identifier: Apache-2.0
// A block computes two pooled rows of an image and keeps their pixels in shared memory, with a border of zeros. A warp
// computes 32 channels of a pooled pixel. A thread computes one channel and keeps its 25 weights, or their gradients,
// in registers.
#include <algorithm>

#include "layers/kernels/launch.h"
#include "train/models/kernels/first_convolution.h"
#include "train/models/kernels/pooling.h"

namespace rnnlab::kernels {
namespace {

constexpr uint32_t kThreads = kLanes * kWarps;
constexpr uint32_t kBorder = kFirstKernelSize / 2;
constexpr uint32_t kSliceRows = 2;  // pooled rows of a block
constexpr uint32_t kTileRows = 2 * kSliceRows + 2 * kBorder;
constexpr uint32_t kSums = kTaps + 1;  // a thread's gradients
constexpr uint32_t kPixelsAtOnce = 4;  // of one thread, in the backward pass
constexpr size_t kMostSharedBytes = 48 * 1024;

// The pitch is even, so that two neighbours can be read together. It also places a pixel, its right neighbour, the
// pixel below and the diagonal pixel in different banks.
__host__ __device__ constexpr uint32_t pitch_for(uint32_t num_columns) {
  const uint32_t width = (num_columns + 2 * kBorder + 1) / 2 * 2;
  return width % 32 == 0 ? width + 2 : width;
}

__host__ __device__ constexpr uint32_t num_slices(const PoolShape& shape) {
  return (shape.num_rows / 2 + kSliceRows - 1) / kSliceRows;
}

// A slice of an image, identified by its number among all slices.
struct Slice {
  uint32_t image;
  uint32_t first_pooled_row;
  uint32_t num_pixels;  // pooled
};

__device__ Slice slice_of(const PoolShape& shape, uint32_t number) {
  const uint32_t slices = num_slices(shape);
  const uint32_t first = number % slices * kSliceRows;
  const uint32_t rows = min(kSliceRows, shape.num_rows / 2 - first);
  return {number / slices, first, rows * (shape.num_columns / 2)};
}

// All threads of the block call this function.
__device__ void load_tile(const GrayImages& images, const PoolShape& shape, const Slice& slice, float* tile) {
  const uint32_t pitch = pitch_for(shape.num_columns);
  const float* image = images.pixels + slice.image * images.image_stride;
  for (uint32_t i = threadIdx.y * kLanes + threadIdx.x; i < kTileRows * pitch; i += kThreads) {
    const int row = static_cast<int>(2 * slice.first_pooled_row + i / pitch) - static_cast<int>(kBorder);
    const int column = static_cast<int>(i % pitch) - static_cast<int>(kBorder);
    const bool is_inside = row >= 0 && row < static_cast<int>(shape.num_rows) && column >= 0 &&
                           column < static_cast<int>(shape.num_columns);
    tile[i] = is_inside ? image[row * images.row_stride + column] : 0.0F;
  }
}

// The places of a pooled pixel of a slice.
struct TilePlace {
  uint32_t tile;  // upper left corner of its receptive field
  int64_t pooled;
  int64_t choice;
};

__device__ TilePlace place_in(const PoolShape& shape, const PooledStrides& strides, const Slice& slice,
                              uint32_t pixel) {
  const uint32_t width = shape.num_columns / 2;
  const uint32_t row = pixel / width, column = pixel % width;
  const uint32_t in_image = (slice.first_pooled_row + row) * width + column;
  return {2 * row * pitch_for(shape.num_columns) + 2 * column, slice.image * strides.image + in_image * strides.pixel,
          (static_cast<int64_t>(slice.image) * pixels_of_image(shape) + in_image) * shape.num_channels};
}

// Computes the convolution at the four places of a pooled pixel, in reading order.
__device__ void convolve(const float* seen, uint32_t pitch, const float (&weight)[kTaps], float (&sums)[4]) {
#pragma unroll
  for (int y = 0; y <= kFirstKernelSize; ++y) {
    float values[kFirstKernelSize + 1];
#pragma unroll
    for (int x = 0; x < kFirstKernelSize + 1; x += 2) {
      const float2 two = *reinterpret_cast<const float2*>(seen + y * pitch + x);
      values[x] = two.x;
      values[x + 1] = two.y;
    }
#pragma unroll
    for (int x = 0; x < kFirstKernelSize; ++x) {
      if (y < kFirstKernelSize) {
        sums[0] += values[x] * weight[y * kFirstKernelSize + x];
        sums[1] += values[x + 1] * weight[y * kFirstKernelSize + x];
      }
      if (y > 0) {
        sums[2] += values[x] * weight[(y - 1) * kFirstKernelSize + x];
        sums[3] += values[x + 1] * weight[(y - 1) * kFirstKernelSize + x];
      }
    }
  }
}

// Each block computes one slice.
template <class T>
__global__ void __launch_bounds__(kThreads) convolve_kernel(const FirstConvolutionForward work) {
  wait_for_work_ahead();
  extern __shared__ __align__(16) float tile[];
  __shared__ float weights[kLanes * kTaps];
  const uint32_t first_channel = blockIdx.y * kLanes;
  const uint32_t num_channels = min(kLanes, work.shape.num_channels - first_channel);
  for (uint32_t i = threadIdx.y * kLanes + threadIdx.x; i < num_channels * kTaps; i += kThreads)
    weights[i] = work.weight[first_channel * kTaps + i];
  const Slice slice = slice_of(work.shape, blockIdx.x);
  load_tile(work.images, work.shape, slice, tile);
  __syncthreads();
  if (threadIdx.x >= num_channels) return;
  const uint32_t channel = first_channel + threadIdx.x;
  const float bias = work.bias[channel];
  float weight[kTaps];
  for (int i = 0; i < kTaps; ++i) weight[i] = weights[threadIdx.x * kTaps + i];
  for (uint32_t pixel = threadIdx.y; pixel < slice.num_pixels; pixel += kWarps) {
    const TilePlace place = place_in(work.shape, work.strides, slice, pixel);
    float sums[4] = {bias, bias, bias, bias};
    convolve(tile + place.tile, pitch_for(work.shape.num_columns), weight, sums);
    const auto largest = largest_of(sums[0], sums[1], sums[2], sums[3]);
    store<T>(work.pooled, place.pooled + channel * work.strides.channel, largest.value);
    work.choices[place.choice + channel] = largest.choice;
  }
}

// Adds the sums of the block's warps and writes them to the block's part.
__device__ void write_part(const FirstConvolutionBackward& work, const float (&sums)[kSums], float* shared) {
  __syncthreads();  // All threads have finished reading the tile.
  for (uint32_t i = 0; i < kSums; ++i) shared[(threadIdx.y * kSums + i) * kLanes + threadIdx.x] = sums[i];
  __syncthreads();
  for (uint32_t i = threadIdx.y; i < kSums; i += kWarps) {
    float sum = 0;
    for (uint32_t warp = 0; warp < kWarps; ++warp) sum += shared[(warp * kSums + i) * kLanes + threadIdx.x];
    const uint32_t channel = blockIdx.y * kLanes + threadIdx.x;
    if (channel >= work.shape.num_channels) continue;
    float* part = work.parts + static_cast<int64_t>(blockIdx.x) * work.shape.num_channels * kSums;
    part[i < kTaps ? channel * kTaps + i : work.shape.num_channels * kTaps + channel] = sum;
  }
}

// The gradient of a pooled pixel, and which of its four inputs receives the gradient.
struct Arrival {
  float gradient;
  uint8_t choice;
};

// Loads the gradients of every kWarps-th pixel of a slice together, so that the memory latency occurs once.
template <class T>
__device__ void load_arrivals(const FirstConvolutionBackward& work, const Slice& slice, uint32_t first,
                              uint32_t channel, Arrival (&arrivals)[kPixelsAtOnce]) {
#pragma unroll
  for (uint32_t i = 0; i < kPixelsAtOnce; ++i) {
    arrivals[i] = {0.0F, kNoneChosen};
    const uint32_t pixel = first + i * kWarps;
    if (pixel >= slice.num_pixels || channel >= work.shape.num_channels) continue;
    const TilePlace place = place_in(work.shape, work.strides, slice, pixel);
    arrivals[i] = {static_cast<float>(load<T>(work.pooled_gradient, place.pooled + channel * work.strides.channel)),
                   work.choices[place.choice + channel]};
  }
}

__device__ void add_arrivals(const FirstConvolutionBackward& work, const Slice& slice, uint32_t first,
                             const Arrival (&arrivals)[kPixelsAtOnce], const float* tile, float (&sums)[kSums]) {
  const uint32_t pitch = pitch_for(work.shape.num_columns);
#pragma unroll
  for (uint32_t i = 0; i < kPixelsAtOnce; ++i) {
    const auto [gradient, choice] = arrivals[i];
    if (choice == kNoneChosen) continue;
    const TilePlace place = place_in(work.shape, work.strides, slice, first + i * kWarps);
    const float* seen = tile + place.tile + (choice / 2) * pitch + choice % 2;
#pragma unroll
    for (int y = 0; y < kFirstKernelSize; ++y)
#pragma unroll
      for (int x = 0; x < kFirstKernelSize; ++x) sums[y * kFirstKernelSize + x] += gradient * seen[y * pitch + x];
    sums[kTaps] += gradient;
  }
}

// Each block computes one part from every num_parts-th slice.
template <class T>
__global__ void __launch_bounds__(kThreads) weight_gradient_kernel(const FirstConvolutionBackward work) {
  wait_for_work_ahead();
  extern __shared__ __align__(16) float tile[];
  const uint32_t channel = blockIdx.y * kLanes + threadIdx.x;
  const uint32_t count = work.shape.num_images * num_slices(work.shape);
  float sums[kSums] = {};
  for (uint32_t number = blockIdx.x; number < count; number += gridDim.x) {
    const Slice slice = slice_of(work.shape, number);
    Arrival arrivals[kPixelsAtOnce];
    load_arrivals<T>(work, slice, threadIdx.y, channel, arrivals);
    __syncthreads();  // All threads have finished reading the last tile.
    load_tile(work.images, work.shape, slice, tile);
    __syncthreads();
    add_arrivals(work, slice, threadIdx.y, arrivals, tile, sums);
    for (uint32_t pixel = threadIdx.y + kPixelsAtOnce * kWarps; pixel < slice.num_pixels;
         pixel += kPixelsAtOnce * kWarps) {
      load_arrivals<T>(work, slice, pixel, channel, arrivals);
      add_arrivals(work, slice, pixel, arrivals, tile, sums);
    }
  }
  write_part(work, sums, tile);
}

size_t tile_bytes(uint32_t num_columns) { return sizeof(float) * kTileRows * pitch_for(num_columns); }

dim3 grid_of(uint32_t num_blocks, const PoolShape& shape) {
  return {num_blocks, (shape.num_channels + kLanes - 1) / kLanes};
}

}  // namespace

bool can_run_first_convolution(int64_t num_columns) {
  constexpr size_t kWeightBytes = sizeof(float) * kLanes * kTaps;
  return num_columns < 4096 && tile_bytes(static_cast<uint32_t>(num_columns)) + kWeightBytes <= kMostSharedBytes;
}

void run(const FirstConvolutionForward& work, cudaStream_t stream) {
  const dim3 grid = grid_of(work.shape.num_images * num_slices(work.shape), work.shape);
  const size_t shared = tile_bytes(work.shape.num_columns);
  with_cuda_type(work.shape.type, [&](auto element) {
    launch_dependent(convolve_kernel<decltype(element)>, grid, dim3(kLanes, kWarps), shared, stream, work);
  });
  require_started("the first convolution's kernel", kWithoutImageKernels);
}

void run(const FirstConvolutionBackward& work, cudaStream_t stream) {
  constexpr size_t kSumBytes = sizeof(float) * kThreads * kSums;
  const size_t shared = std::max(kSumBytes, tile_bytes(work.shape.num_columns));
  with_cuda_type(work.shape.type, [&](auto element) {
    launch_dependent(weight_gradient_kernel<decltype(element)>, grid_of(work.num_parts, work.shape),
                     dim3(kLanes, kWarps), shared, stream, work);
  });
  require_started("the first convolution's backward kernel", kWithoutImageKernels);
}

}  // namespace rnnlab::kernels
