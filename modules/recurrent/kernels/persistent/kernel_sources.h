// The sources of the kernels, as text: the build puts the headers of this folder that a GPU's compiler reads, and what
// they take of the standard library (freestanding.h), into the program (embed_sources.cmake).
#pragma once

#include <span>

#include "kernel_cache/nvrtc.h"

namespace rnnlab::kernels::persistent {

std::span<const KernelHeader> kernel_sources();

}  // namespace rnnlab::kernels::persistent
