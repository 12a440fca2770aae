// SPDX-License-Identifier: Apache-2.0
// Measures what the program does: recordings by Kineto, LibTorch's profiler, named ranges, and the memory of a device.
#pragma once

#include <c10/core/Device.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>

namespace at {
class RecordFunction;
}  // namespace at

namespace rnnlab {

// Records the program from construction to finish() or, after an exception, to destruction: the operators and ranges of
// this thread and of the threads that run autograd's backward passes, and the work of a GPU. A process can have one
// recording at a time. Recording a GPU leaves hooks in the driver that may slow down the process afterwards.
class Profiling {
 public:
  using Activity = torch::profiler::impl::ActivityType;

  explicit Profiling(const std::set<Activity>& activities);
  ~Profiling();
  Profiling(const Profiling&) = delete;
  Profiling& operator=(const Profiling&) = delete;

  // Call this function once. The result does not contain GPU work that has not finished yet.
  std::unique_ptr<torch::autograd::profiler::ProfilerResult> finish();

 private:
  bool is_running_ = true;
};

// A named range of host work on one thread, from construction to destruction; ranges may be nested. The range appears
// in NVTX (which Nsight Systems shows) and in LibTorch's profiler while a profiler records this thread. Without a
// profiler a range costs a few nanoseconds, so it may stay in a training step.
class TraceRange {
 public:
  // `name` must outlive the profile, so it should be a literal.
  explicit TraceRange(const char* name);
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;

 private:
  std::unique_ptr<at::RecordFunction> record_;
};

// peak_memory_bytes returns the peak memory since the last reset. On a GPU the peak is the most bytes that LibTorch's
// caching allocator has handed out. On a CPU the peak is that of the resident set of the whole process, libraries
// included; nothing is returned if the system cannot reset its count.
void reset_peak_memory(c10::Device device);
std::optional<int64_t> peak_memory_bytes(c10::Device device);

// Frees the memory that the allocators keep of deleted tensors, on the CPU and on all GPUs, so that the next run, and
// the placement of its data, can use it.
void release_cached_memory();

}  // namespace rnnlab
