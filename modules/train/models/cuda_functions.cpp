// SPDX-License-Identifier: Apache-2.0
#include "train/models/cuda_functions.h"

#include <ATen/cuda/CUDAGeneratorImpl.h>

#include <mutex>

#include "layers/device/run_kernels_on_cuda.h"
#include "train/models/kernels/dense_end.h"
#include "train/models/kernels/dense_head.h"
#include "train/models/kernels/first_convolution.h"
#include "train/models/kernels/output_layer.h"
#include "train/models/kernels/padded_gradient.h"
#include "train/models/kernels/pooling.h"

namespace rnnlab {
namespace {

kernels::RandomStart take_stretch(c10::Device device) {
  const at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(device.index());
  auto* const cuda_generator = at::check_generator<at::CUDAGeneratorImpl>(generator);
  const std::lock_guard<std::mutex> lock(cuda_generator->mutex_);
  const at::PhiloxCudaState state = cuda_generator->philox_cuda_state(kernels::kRandomNumbersOfThread);
  if (!state.captured_) return {.seed = state.seed_.val, .offset = state.offset_.val};
  return {.offset = state.offset_intragraph_, .seed_on_device = state.seed_.ptr, .offset_on_device = state.offset_.ptr};
}

[[maybe_unused]] const bool kModelFunctions =
    has_first_convolution_kernels.define(kernels::can_run_first_convolution) &&
    take_random_numbers.define(take_stretch) &&
    define_kernels<kernels::AddParts, kernels::HeadForward, kernels::HeadBackward, kernels::DenseEndForward,
                   kernels::DenseEndBackward, kernels::FirstConvolutionForward, kernels::FirstConvolutionBackward,
                   kernels::OutputForward, kernels::OutputBackward, kernels::PaddedGradient, kernels::PoolForward,
                   kernels::PoolBackward>();

}  // namespace
}  // namespace rnnlab
