// TF32 from outside of the program.
#pragma once

namespace rnnlab {

// NVIDIA_TF32_OVERRIDE=0: NVIDIA's libraries then have no TF32, whatever a program asks for.
bool tf32_is_overridden();

}  // namespace rnnlab
