// Memory and time of a GPU, as LibTorch and marks in its queue tell them.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <optional>

namespace rnnlab {

// The memory of the device that trains, seen through LibTorch's caching allocator on a GPU. On a CPU only the process
// as a whole can be looked at.

// The most that a GPU's allocator has handed out since the last reset; on a CPU the process's peak resident set since
// then, libraries included. Nothing on a CPU whose system does not let its count be reset.
void reset_peak_memory(c10::Device device);
std::optional<int64_t> peak_memory_bytes(c10::Device device);

// Gives back what the allocators keep of tensors that are gone, on the CPU and on all GPUs: the next run, and its
// choice of where the data goes, finds the memory free.
void release_cached_memory();

// The time between two moments by a GPU's own clock, from marks in its queue: a second witness for what the host's
// clock says, since it is right whether or not the host waited.

class DeviceSpan {
 public:
  explicit DeviceSpan(c10::Device device);

  // Marks on the current stream; neither waits.
  void begin();
  void end();

  // From the first mark to the second, for which it waits. Nothing on a CPU, which has no clock but the host's.
  std::optional<double> seconds() const;

 private:
  c10::Device device_;
  std::optional<c10::Event> begin_, end_;
};

}  // namespace rnnlab
