// SPDX-License-Identifier: Apache-2.0
// Random factors of dropout in CUDA kernels.
#pragma once

#include <c10/util/Exception.h>

#include <ATen/core/PhiloxRNGEngine.h>

#include "train/models/kernels/dense_head.h"

namespace rnnlab::kernels {

inline constexpr uint32_t kNumbersOfDraw = 4;  // random words that Philox makes at once

// Draws factors of dropout, four at once: 0, or the scale of a kept value.
class Dropout {
 public:
  __device__ Dropout(float dropout, const RandomStart& start)
      : is_on_(dropout > 0.0F), bound_(static_cast<uint32_t>(dropout * 4294967296.0)), kept_(1.0F / (1.0F - dropout)) {
    if (!is_on_) return;
    seed_ = start.seed_on_device == nullptr ? start.seed : static_cast<uint64_t>(*start.seed_on_device);
    offset_ = start.offset;
    if (start.offset_on_device != nullptr) offset_ += static_cast<uint64_t>(*start.offset_on_device);
  }

  __device__ void draw(uint64_t place, float (&factors)[kNumbersOfDraw]) const {
    if (!is_on_) {
      for (float& factor : factors) factor = 1.0F;
      return;
    }
    at::Philox4_32 engine(seed_, /*subsequence=*/place, offset_ / kRandomNumbersOfThread);
    for (float& factor : factors) factor = engine() < bound_ ? 0.0F : kept_;
  }

 private:
  bool is_on_;
  uint32_t bound_;
  float kept_;
  uint64_t seed_ = 0;
  uint64_t offset_ = 0;
};

}  // namespace rnnlab::kernels
