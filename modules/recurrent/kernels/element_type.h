// Defines nonlinearities and number types, which kernels and their callers share. Sums and cell states have the
// accumulation type: float32 for the 16-bit types, otherwise the type itself.
#pragma once

namespace rnnlab::kernels {

enum class ElementType { kFloat32, kFloat64, kFloat16, kBfloat16 };

enum class Nonlinearity { kTanh, kRelu };

}  // namespace rnnlab::kernels
