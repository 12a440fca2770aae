// The pooling of pooling.h for one pooled pixel, shared by the CPU code and the CUDA kernels.
#pragma once

#include "models/kernels/pooling.h"
#include "recurrent/kernels/pointwise_unit.h"

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
  const auto look_at = [&](Real candidate, uint8_t number) {
    const bool is_larger = candidate > value || candidate != candidate;
    value = is_larger ? candidate : value;
    choice = is_larger ? number : choice;
  };
  look_at(second, 1);
  look_at(third, 2);
  look_at(fourth, 3);
  choice = value > Real(0) ? choice : kNoneChosen;
  return {value < Real(0) ? Real(0) : value, choice};
}

}  // namespace rnnlab::kernels
