#include "recurrent/kernels/simd_steps.h"

namespace rnnlab::kernels {
namespace {

const SimdSteps* choose() {
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_avx512) return __builtin_cpu_supports("avx512bf16") ? &avx512_bf16_steps() : &avx512_steps();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2_steps();
  return nullptr;
}

}  // namespace

const SimdSteps* simd_steps() {
  static const SimdSteps* const kChosen = choose();
  return kChosen;
}

}  // namespace rnnlab::kernels
