// Measures the memory of a device with LibTorch's allocator.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

namespace rnnlab {

// peak_memory_bytes returns the peak memory since the last reset. On a GPU the peak is the most bytes that LibTorch's
// caching allocator has handed out. On a CPU the peak is that of the resident set of the whole process, libraries
// included; nothing is returned if the system cannot reset its count.
void reset_peak_memory(c10::Device device);
std::optional<int64_t> peak_memory_bytes(c10::Device device);

// Frees the memory that the allocators keep of deleted tensors, on the CPU and on all GPUs, so that the next run, and
// the placement of its data, can use it.
void release_cached_memory();

}  // namespace rnnlab
