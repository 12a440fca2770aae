// The classes of precision: what a layer's tensors hold, and what the factors of its recurrent products are rounded to.
// Sums, activations, cell states and gradients of states are float32 in all of them, but for sums on their way through
// L2 (grid_parcel.h). The host knows them too; numbers.h has their arithmetic.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rnnlab::kernels::persistent {

// The bits of float16 and bfloat16. CUDA's own types would need its headers wherever kernels are compiled.
struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

// A factor is kParts operands of 16 bits that add up to it.
template <class ValueOf, class OperandOf, int kPartsOf>
struct Numbers {
  using Value = ValueOf;
  using Operand = OperandOf;
  static constexpr int kParts = kPartsOf;
  // Gradients are scaled: float16 has little range, bfloat16 that of float32.
  static constexpr bool kIsScaled = std::is_same_v<Operand, Half>;
};

using Float16 = Numbers<Half, Half, 1>;
using Bfloat16 = Numbers<Bfloat, Bfloat, 1>;
using Tf32 = Numbers<float, Half, 1>;     // float16 has TF32's mantissa
using Float32 = Numbers<float, Half, 2>;  // and two of them 22 of float32's 24 bits

}  // namespace rnnlab::kernels::persistent
