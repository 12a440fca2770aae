// Tests ask LibTorch for GPUs, which it looks for only once: librnnlab_cuda.so must be there by then.
#include "gpu/cuda_library.h"

namespace {

[[maybe_unused]] const bool kIsLoaded = (rnnlab::load_cuda_library(), true);

}  // namespace
