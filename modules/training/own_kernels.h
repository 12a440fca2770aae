// Which tensors the kernels of kernels/ can take; recurrent/run_kernels.h starts them.
#pragma once

#include <ATen/core/Tensor.h>

namespace rnnlab {

// Whether all are float32, dense, and on one GPU that this build has the kernels for.
bool suit_own_kernels(at::TensorList tensors);

}  // namespace rnnlab
