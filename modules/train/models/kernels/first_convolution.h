// SPDX-License-Identifier: Apache-2.0
// The first convolution of an image model on a GPU, fused with the following operations: 5 x 5 over one channel, zero
// padding "same", then bias, ReLU and 2 x 2 max pooling as in pooling.h. Convolutions of libraries are optimised for
// many input channels, and their output at this place would be the largest tensor of the network. All arithmetic is in
// float32, for every type of the result.
#pragma once

#include <cstdint>

#include "train/models/kernels/pooling.h"

namespace rnnlab::kernels {

inline constexpr int kFirstKernelSize = 5;
inline constexpr int kTaps = kFirstKernelSize * kFirstKernelSize;

// (images, rows, columns) float32; the pixels of a row are adjacent.
struct GrayImages {
  const float* pixels = nullptr;
  int64_t image_stride = 0;
  int64_t row_stride = 0;
};

struct FirstConvolutionForward {
  PoolShape shape;  // of the convolution's output; the type is the pooled tensor's
  GrayImages images;
  const float* weight = nullptr;  // (channels, kTaps)
  const float* bias = nullptr;    // (channels)
  void* pooled = nullptr;         // as PoolForward
  PooledStrides strides;
  uint8_t* choices = nullptr;
};

struct FirstConvolutionBackward {
  PoolShape shape;
  GrayImages images;
  const void* pooled_gradient = nullptr;
  PooledStrides strides;
  const uint8_t* choices = nullptr;
  float* parts = nullptr;  // (num_parts, channels * (kTaps + 1)), to be added: all weights, then the bias
  uint32_t num_parts = 1;
};

// Returns whether a row of the images fits into the shared memory of a multiprocessor.
bool can_run_first_convolution(int64_t num_columns);

// Queues the work on `stream`. Throws std::runtime_error with CUDA's message if the launch fails.
void run(const FirstConvolutionForward& work, CUstream_st* stream);
void run(const FirstConvolutionBackward& work, CUstream_st* stream);

}  // namespace rnnlab::kernels
