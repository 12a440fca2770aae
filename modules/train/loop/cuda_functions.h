// SPDX-License-Identifier: Apache-2.0
// Declares what training calls in librnnlab_cuda.so, except the functions that start kernels
// (layers/device/run_kernels.h): the random generator, ranges of profilers, and CUDA graphs.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "base/error.h"
#include "layers/device/cuda_library.h"

namespace rnnlab {

// Seeds the GPU's default generator with `seed` and moves the generator to section `first` + `next` of its random
// numbers; a section suffices for one step. While the current stream is captured, moves the generator to section
// `next`, counted from the section at which a replay begins.
inline constinit CudaFunction<void(c10::Device, uint64_t seed, uint64_t first, uint64_t next)> move_generator;

// These functions begin and end a range for NVIDIA's profilers; ranges may be nested.
inline constinit CudaFunction<void(const char* name)> begin_profiler_range;
inline constinit CudaFunction<void()> end_profiler_range;

// Captures work on one GPU once as a CUDA graph and replays it any number of times: the host starts one graph instead
// of every kernel. The work must do the same each time, on the same tensors: a replay reads its inputs at the addresses
// of the capture and overwrites whatever the work allocated. Random numbers are different at every replay.
class CapturedWork {
 public:
  static constexpr int kWarmupRuns = 3;

  CapturedWork() = default;
  virtual ~CapturedWork() = default;
  CapturedWork(const CapturedWork&) = delete;
  CapturedWork& operator=(const CapturedWork&) = delete;

  // Runs `work` kWarmupRuns times on a separate stream, so that libraries choose their algorithms and allocate memory,
  // and then captures the work once on that stream; during the capture its kernels do not run. The work must stay on
  // the current stream (a stream that it forks must be joined again), must not wait for the device or read from it, and
  // must not keep memory that it allocates, except its results. Throws UserError kDevice, with the reason, if the work
  // cannot be captured; an exception of a warm-up run propagates. Waits for the device.
  virtual void capture(const std::function<void()>& work) = 0;

  // Captures `work` without warm-up runs, on the current stream, which must not be the default stream. The work must
  // have run on that stream before.
  virtual void capture_without_warmup(const std::function<void()>& work) = 0;

  // Queues the captured work on the current stream.
  virtual void replay() = 0;
};

// This is the function of librnnlab_cuda.so that make_captured_work calls.
inline constinit CudaFunction<std::unique_ptr<CapturedWork>(c10::Device, const CapturedWork*)> make_cuda_graph;

// Throws UserError kDevice if `device` is not a GPU. If `shares_memory_with` is given, the new work uses the memory of
// that work and needs less of its own; then a replay of one overwrites what the other allocated, so the two must not
// run at the same time.
inline std::unique_ptr<CapturedWork> make_captured_work(c10::Device device,
                                                        const CapturedWork* shares_memory_with = nullptr) {
  if (!device.is_cuda()) throw_error(ExitCode::kDevice, "a CUDA graph needs a GPU; the device is {}", device.str());
  return make_cuda_graph(device, shares_memory_with);
}

}  // namespace rnnlab
