// SPDX-License-Identifier: Apache-2.0
#define RNNLAB_SIMD_WIDTH 16
#include "layers/kernels/simd_steps_impl.h"

namespace rnnlab::kernels {

const SimdSteps& avx512_steps() {
  static constexpr SimdSteps kSteps = make_steps("AVX-512");
  return kSteps;
}

}  // namespace rnnlab::kernels
