// SPDX-License-Identifier: Apache-2.0
#define RNNLAB_SIMD_WIDTH 8
#include "layers/kernels/simd_steps_impl.h"

namespace rnnlab::kernels {

const SimdSteps& avx2_steps() {
  static constexpr SimdSteps kSteps = make_steps("AVX2");
  return kSteps;
}

}  // namespace rnnlab::kernels
