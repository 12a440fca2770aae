// What kernels and their callers both name: nonlinearities, and number types to compute with. Sums and cell states are
// held in the accumulation type: float32 for the 16-bit types, the type itself for the others.
#pragma once

namespace rnnlab::kernels {

enum class ElementType { kFloat32, kFloat64, kFloat16, kBfloat16 };

enum class Nonlinearity { kTanh, kRelu };

}  // namespace rnnlab::kernels
