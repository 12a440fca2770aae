// SPDX-License-Identifier: Apache-2.0
// The operations between two convolutions in one pass over memory, forward and backward: bias, ReLU and 2 x 2 max
// pooling, on plain pointers and without LibTorch. ReLU is applied after the maximum, which gives the same result. A
// last row or column without a partner is left out, as in torch.nn.MaxPool2d. "acc" marks the accumulation type
// (element_type.h).
#pragma once

#include <cstdint>

#include "layers/kernels/element_type.h"

struct CUstream_st;  // cudaStream_t is a pointer to this type

namespace rnnlab::kernels {

// The shape before pooling: (images, rows, columns, channels), dense, with adjacent channels of a pixel.
struct PoolShape {
  ElementType type = ElementType::kFloat32;
  uint32_t num_images = 0;
  uint32_t num_channels = 0;
  uint32_t num_rows = 0;
  uint32_t num_columns = 0;
};

// Distances in elements between neighbours of a pooled tensor, in which either the channels of a pixel or the pixels of
// a channel are adjacent.
struct PooledStrides {
  int64_t image = 0;
  int64_t channel = 0;
  int64_t pixel = 0;
};

// The choice of a pixel without a value above zero: the gradient of this pixel is dropped.
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
  void* gradient = nullptr;             // of the values; rows and columns without a partner are not written
  void* bias_gradient_parts = nullptr;  // (num_parts, channels) acc, to be added
  uint32_t num_parts = 1;               // the pooled pixels of all images are divided among the parts
};

// Queue the work on `stream` of a GPU. Throw std::runtime_error with CUDA's message if the launch fails.
void run(const PoolForward& work, CUstream_st* stream);
void run(const PoolBackward& work, CUstream_st* stream);

// Run a part of the work on the CPU, so that callers can divide it: a range of pooled pixels, or of parts.
struct Range {
  uint32_t first = 0;
  uint32_t last = 0;
};
void run(const PoolForward& work, Range pixels);
void run(const PoolBackward& work, Range parts);

}  // namespace rnnlab::kernels

namespace rnnlab::kernels {

RNNLAB_HOST_DEVICE uint32_t pixels_of_image(const PoolShape& shape) {
  return (shape.num_rows / 2) * (shape.num_columns / 2);
}

RNNLAB_HOST_DEVICE uint32_t num_pixels(const PoolShape& shape) { return shape.num_images * pixels_of_image(shape); }

// The places of the first channel of a pooled pixel, of its inputs and of its choice.
struct PixelPlace {
  int64_t value;   // upper left of the four inputs
  int64_t pooled;  // according to PooledStrides
  int64_t choice;
};

// `pixel` is counted over all images.
RNNLAB_HOST_DEVICE PixelPlace place_of(const PoolShape& shape, const PooledStrides& strides, uint32_t pixel) {
  const uint32_t width = shape.num_columns / 2;
  const uint32_t per_image = pixels_of_image(shape);
  const uint32_t image = pixel / per_image;
  const uint32_t in_image = pixel % per_image;
  const int64_t row = static_cast<int64_t>(image) * shape.num_rows + 2 * (in_image / width);
  const int64_t column = 2 * (in_image % width);
  return {(row * shape.num_columns + column) * shape.num_channels, image * strides.image + in_image * strides.pixel,
          static_cast<int64_t>(pixel) * shape.num_channels};
}

template <class Real>
struct Largest {
  Real value;  // after ReLU
  uint8_t choice;
};

// Returns the first of equal values, and NaN before all numbers, as torch.nn.MaxPool2d does.
template <class Real>
RNNLAB_HOST_DEVICE Largest<Real> largest_of(Real first, Real second, Real third, Real fourth) {
  Real value = first;
  uint8_t choice = 0;
  const auto compare = [&](Real candidate, uint8_t number) {
    const bool is_larger = candidate > value || candidate != candidate;
    value = is_larger ? candidate : value;
    choice = is_larger ? number : choice;
  };
  compare(second, 1);
  compare(third, 2);
  compare(fourth, 3);
  choice = value > Real(0) ? choice : kNoneChosen;
  return {value < Real(0) ? Real(0) : value, choice};
}

}  // namespace rnnlab::kernels
