// SPDX-License-Identifier: Apache-2.0
// Tests ask LibTorch for GPUs, which LibTorch searches only once, so librnnlab_cuda.so must be loaded before.
#include "layers/device/cuda_library.h"

namespace {

[[maybe_unused]] const bool kIsLoaded = (rnnlab::load_cuda_library(), true);

}  // namespace
