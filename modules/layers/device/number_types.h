// SPDX-License-Identifier: Apache-2.0
// LibTorch's types of numbers: their names for people and for kernels, the type of products, and whether products of
// float32 may round their operands to TF32.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "layers/kernels/element_type.h"

namespace rnnlab {

// Returns the name that experiment files use. Throws InvariantError for types that kernels do not have.
std::string_view number_type_name(at::ScalarType type);

// Returns the kernels' name of float64, float32, float16 or bfloat16. Throws InvariantError for other types.
kernels::ElementType element_type(at::ScalarType type);

// Returns the type of products of these values: that of autocast if it is on for their device, otherwise their own.
at::ScalarType type_of_products(const at::Tensor& values);

// Returns whether the environment has NVIDIA_TF32_OVERRIDE=0. NVIDIA's libraries then do not use TF32, even if a
// program requests it.
bool tf32_is_overridden();

// Returns whether LibTorch currently lets cuBLAS round to TF32 and the environment does not forbid it.
bool rounds_to_tf32();

}  // namespace rnnlab
