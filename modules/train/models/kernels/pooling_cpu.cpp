// SPDX-License-Identifier: Apache-2.0
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>

#include "train/models/kernels/pooling.h"

namespace rnnlab::kernels {
namespace {

template <class T>
const T* at_place(const void* data, int64_t place) {
  return static_cast<const T*>(data) + place;
}

template <class T>
void pool_pixel(const PoolForward& work, const PixelPlace& place) {
  using Real = Accumulation<T>;
  const int64_t num_channels = work.shape.num_channels;
  const int64_t below = work.shape.num_columns * num_channels;
  const T* __restrict const values = at_place<T>(work.values, place.value);
  const Real* __restrict const bias = static_cast<const Real*>(work.bias);
  T* __restrict const pooled = static_cast<T*>(work.pooled) + place.pooled;
  uint8_t* __restrict const choices = work.choices + place.choice;
  const int64_t stride = work.strides.channel;
  for (int64_t c = 0; c < num_channels; ++c) {
    const auto value = [&](int64_t offset) { return static_cast<Real>(values[offset + c]) + bias[c]; };
    const auto largest = largest_of(value(0), value(num_channels), value(below), value(below + num_channels));
    pooled[c * stride] = static_cast<T>(largest.value);
    choices[c] = largest.choice;
  }
}

template <class T>
void pool_pixels(const PoolForward& work, Range pixels) {
  for (uint32_t pixel = pixels.first; pixel < pixels.last; ++pixel)
    pool_pixel<T>(work, place_of(work.shape, work.strides, pixel));
}

template <class T>
void spread_pixel(const PoolBackward& work, const PixelPlace& place, Accumulation<T>* __restrict bias_gradient) {
  using Real = Accumulation<T>;
  const int64_t num_channels = work.shape.num_channels;
  const int64_t below = work.shape.num_columns * num_channels;
  const T* __restrict const pooled_gradient = at_place<T>(work.pooled_gradient, place.pooled);
  const uint8_t* __restrict const choices = work.choices + place.choice;
  T* __restrict const gradient = static_cast<T*>(work.gradient) + place.value;
  const int64_t stride = work.strides.channel;
  for (int64_t c = 0; c < num_channels; ++c) {
    const T value = pooled_gradient[c * stride];
    const T none = static_cast<T>(0);
    const uint8_t choice = choices[c];
    gradient[c] = choice == 0 ? value : none;
    gradient[num_channels + c] = choice == 1 ? value : none;
    gradient[below + c] = choice == 2 ? value : none;
    gradient[below + num_channels + c] = choice == 3 ? value : none;
    bias_gradient[c] += choice == kNoneChosen ? Real(0) : static_cast<Real>(value);
  }
}

template <class T>
void spread_parts(const PoolBackward& work, Range parts) {
  using Real = Accumulation<T>;
  const uint64_t count = num_pixels(work.shape);
  const auto begin_of = [&](uint32_t part) { return static_cast<uint32_t>(count * part / work.num_parts); };
  for (uint32_t part = parts.first; part < parts.last; ++part) {
    Real* const bias_gradient =
        static_cast<Real*>(work.bias_gradient_parts) + static_cast<int64_t>(part) * work.shape.num_channels;
    std::fill_n(bias_gradient, work.shape.num_channels, Real(0));
    for (uint32_t pixel = begin_of(part); pixel < begin_of(part + 1); ++pixel)
      spread_pixel<T>(work, place_of(work.shape, work.strides, pixel), bias_gradient);
  }
}

}  // namespace

void run(const PoolForward& work, Range pixels) {
  with_element_type<c10::Half, c10::BFloat16>(work.shape.type,
                                              [&](auto element) { pool_pixels<decltype(element)>(work, pixels); });
}

void run(const PoolBackward& work, Range parts) {
  with_element_type<c10::Half, c10::BFloat16>(work.shape.type,
                                              [&](auto element) { spread_parts<decltype(element)>(work, parts); });
}

}  // namespace rnnlab::kernels
