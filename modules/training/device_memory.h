// The most memory that a run has held: what the caching allocator handed out on a GPU since the last reset, or the
// process's peak resident set on a CPU, which the system cannot reset and which therefore never falls.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace rnnlab {

void reset_peak_memory(c10::Device device);
int64_t peak_memory_bytes(c10::Device device);

}  // namespace rnnlab
