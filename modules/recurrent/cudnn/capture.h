// Whether a CUDA graph is being captured: nothing may then wait for the device, and what is queued runs at every
// replay.
#pragma once

#include <c10/cuda/CUDAGraphsC10Utils.h>

namespace rnnlab {

inline bool is_capturing() {
  return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
}

}  // namespace rnnlab
