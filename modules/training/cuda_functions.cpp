#include "training/cuda_functions.h"

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <nvtx3/nvToolsExt.h>

#include <mutex>

#include "base/error.h"
#include "recurrent/device/run_kernels_on_cuda.h"
#include "training/kernels/adam.h"
#include "training/kernels/cross_entropy.h"
#include "training/kernels/norms.h"
#include "training/kernels/step_numbers.h"

namespace rnnlab {
namespace {

void begin_range(const char* name) { nvtxRangePushA(name); }
void end_range() { nvtxRangePop(); }

constexpr uint64_t kNumbersOfStretch = uint64_t{1} << 26;  // for each thread of a kernel

void move_to_stretch(c10::Device device, uint64_t seed, uint64_t first, uint64_t next) {
  const at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(device.index());
  auto* const on_gpu = at::check_generator<at::CUDAGeneratorImpl>(generator);
  const std::lock_guard<std::mutex> lock(on_gpu->mutex_);
  if (c10::cuda::currentStreamCaptureStatusMayInitCtx() == c10::cuda::CaptureStatus::None) {
    on_gpu->set_current_seed(seed);
    return on_gpu->set_philox_offset_per_thread((first + next) * kNumbersOfStretch);
  }
  const uint64_t here = on_gpu->philox_cuda_state(0).offset_intragraph_, there = next * kNumbersOfStretch;
  RNNLAB_INVARIANT(here <= there, "a step drew more random numbers than a stretch has");
  on_gpu->philox_cuda_state(there - here);
}

[[maybe_unused]] const bool kTrainingFunctions =
    move_generator.define(move_to_stretch) && begin_profiler_range.define(begin_range) &&
    end_profiler_range.define(end_range) &&
    define_kernels<kernels::AdamUpdate, kernels::CrossEntropy, kernels::Norms, kernels::StepNumbers>();

}  // namespace
}  // namespace rnnlab
