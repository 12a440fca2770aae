// The memory of the device that trains, seen through LibTorch's caching allocator on a GPU. On a CPU only the process
// as a whole can be looked at.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

namespace rnnlab {

// The most that a GPU's allocator has handed out since the last reset; on a CPU the process's peak resident set since
// then, libraries included. Nothing on a CPU whose system does not let its count be reset.
void reset_peak_memory(c10::Device device);
std::optional<int64_t> peak_memory_bytes(c10::Device device);

// Gives back what the allocators keep of tensors that are gone, on the CPU and on all GPUs: the next run, and its
// choice of where the data goes, finds the memory free.
void release_cached_memory();

}  // namespace rnnlab
