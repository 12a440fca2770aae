// What stands between two convolutions, as one pass over the memory, forward and backward: bias, ReLU and 2 x 2 max
// pooling. On plain pointers and without LibTorch. ReLU and maximum change places, which changes nothing. A last row or
// column that has no partner is left out, as in torch.nn.MaxPool2d. "acc" marks the accumulation type (element_type.h).
#pragma once

#include <cstdint>

#include "recurrent/kernels/element_type.h"

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

// Of the values before pooling: (images, rows, columns, channels), dense, the channels of a pixel side by side.
struct PoolShape {
  ElementType type = ElementType::kFloat32;
  uint32_t num_images = 0;
  uint32_t num_channels = 0;
  uint32_t num_rows = 0;
  uint32_t num_columns = 0;
};

// Elements between neighbours of a pooled tensor: it may hold the channels of a pixel or the pixels of a channel side
// by side.
struct PooledStrides {
  int64_t image = 0;
  int64_t channel = 0;
  int64_t pixel = 0;
};

// The choice of a pixel with no value above zero: nothing gets its gradient.
inline constexpr uint8_t kNoneChosen = 4;

struct PoolForward {
  PoolShape shape;
  const void* values = nullptr;
  const void* bias = nullptr;  // (channels) acc
  void* pooled = nullptr;      // by `strides`
  PooledStrides strides;
  uint8_t* choices = nullptr;  // (images, pooled pixels, channels): 0 to 3 in reading order, or kNoneChosen
};

struct PoolBackward {
  PoolShape shape;
  const void* pooled_gradient = nullptr;  // by `strides`
  PooledStrides strides;
  const uint8_t* choices = nullptr;
  void* gradient = nullptr;             // of the values; written but for rows and columns that have no partner
  void* bias_gradient_parts = nullptr;  // (num_parts, channels) acc: to be added up
  uint32_t num_parts = 1;               // the pooled pixels of all images are shared out between them
};

// On a GPU, queued on `stream`. Throws std::runtime_error with CUDA's words if the launch fails.
void run(const PoolForward& work, CUstream_st* stream);
void run(const PoolBackward& work, CUstream_st* stream);

// On the CPU, a part of the work, so that callers can share it out: pooled pixels of all images, or parts.
struct Range {
  uint32_t first = 0;
  uint32_t last = 0;
};
void run(const PoolForward& work, Range pixels);
void run(const PoolBackward& work, Range parts);

}  // namespace rnnlab::kernels
