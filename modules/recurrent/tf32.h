// Whether products of float32 may round their factors to TF32.
#pragma once

namespace rnnlab {

// NVIDIA_TF32_OVERRIDE=0: NVIDIA's libraries then have no TF32, whatever a program asks for.
bool tf32_is_overridden();

// As LibTorch has it for cuBLAS at this moment.
bool rounds_to_tf32();

}  // namespace rnnlab
