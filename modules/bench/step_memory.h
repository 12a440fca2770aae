// The most memory that a piece of work holds through LibTorch beyond what was there when it began.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>

namespace rnnlab {

// On a CPU the tensors that this thread allocates; libraries' own buffers are not seen.
int64_t peak_bytes_during(c10::Device device, const std::function<void()>& work);

}  // namespace rnnlab
