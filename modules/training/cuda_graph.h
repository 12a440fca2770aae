// Work on one GPU, captured once as a CUDA graph and replayed as often as one likes: the host starts one graph instead
// of every kernel. The work must do the same each time, on the same tensors: it reads its inputs where they were when
// it was captured, and what it allocates is overwritten by the next replay. Random numbers are fresh at every replay.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <memory>

#include "gpu/cuda_library.h"

namespace rnnlab {

class CapturedWork {
 public:
  static constexpr int kWarmupRuns = 3;

  CapturedWork() = default;
  virtual ~CapturedWork() = default;
  CapturedWork(const CapturedWork&) = delete;
  CapturedWork& operator=(const CapturedWork&) = delete;

  // Runs `work` kWarmupRuns times on a stream of its own, so that libraries choose their algorithms and allocate, and
  // captures it there, once: its kernels do not run then. The work must stay on the current stream (a stream that it
  // forks must be joined again), must not wait for the device or read from it, and must not keep what it allocates
  // alive but for its results. UserError kDevice, with the reason, where it cannot be captured; what the warm-up runs
  // throw passes through. Waits for the device.
  virtual void capture(const std::function<void()>& work) = 0;

  // The same without warm-up runs, on the current stream, which must not be the default one: for work that has run
  // there before.
  virtual void capture_warm(const std::function<void()>& work) = 0;

  // Queues the captured work on the current stream.
  virtual void replay() = 0;
};

// UserError kDevice where `device` is no GPU. In the memory of another's work, where one is given, less is taken, and a
// replay of either overwrites what the other allocated: they must not run at the same time then.
std::unique_ptr<CapturedWork> make_captured_work(c10::Device device, const CapturedWork* shares_memory_with = nullptr);

// What make_captured_work calls of librnnlab_cuda.so.
inline constinit CudaFunction<std::unique_ptr<CapturedWork>(c10::Device, const CapturedWork*)> make_cuda_graph;

}  // namespace rnnlab
