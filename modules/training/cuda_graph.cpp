#include "training/cuda_graph.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab {
namespace {

c10::cuda::CUDAStream side_stream(c10::Device device) {
  if (!device.is_cuda()) throw_error(ExitCode::kDevice, "a CUDA graph needs a GPU; the device is {}", device.str());
  return c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index());
}

}  // namespace

struct CapturedWork::State {
  State(c10::cuda::CUDAStream side, c10::MempoolId_t memory) : stream(side), pool(memory) {}

  void warm_up(const std::function<void()>& work) const;
  void capture(const std::function<void()>& work);
  void abandon_capture();

  c10::cuda::CUDAStream stream;  // of warm-up and capture: the allocator reuses memory within a stream only
  c10::MempoolId_t pool;
  at::cuda::CUDAGraph graph;
  bool is_captured = false;
};

void CapturedWork::State::warm_up(const std::function<void()>& work) const {
  for (int i = 0; i < kWarmupRuns; ++i) work();
  c10::cuda::device_synchronize();
  c10::cuda::CUDACachingAllocator::emptyCache();  // while capturing it can give nothing back
}

// LibTorch leaves its allocator in the state of capturing when the end of a capture fails, as it does for a work that
// did what it may not.
void CapturedWork::State::abandon_capture() {
  try {
    graph.capture_end();
  } catch (const std::exception&) {
    try {
      c10::cuda::CUDACachingAllocator::endAllocateToPool(stream.device_index(), pool);
      c10::cuda::CUDACachingAllocator::releasePool(stream.device_index(), pool);
    } catch (const std::exception&) {  // it had come that far by itself
    }
  }
  (void)cudaGetLastError();  // the capture's; left there, the next kernel would be blamed
}

void CapturedWork::State::capture(const std::function<void()>& work) {
  graph.capture_begin(pool);
  try {
    work();
    graph.capture_end();
  } catch (...) {
    abandon_capture();
    throw;
  }
  is_captured = true;
}

CapturedWork::CapturedWork(c10::Device device, const CapturedWork* shares_memory_with) {
  if (shares_memory_with == nullptr) {
    state_ = std::make_unique<State>(side_stream(device), at::cuda::graph_pool_handle());
    return;
  }
  const State& other = *shares_memory_with->state_;
  RNNLAB_INVARIANT(device == other.stream.device(), "graphs that share memory are on one GPU");
  state_ = std::make_unique<State>(other.stream, other.pool);
}

CapturedWork::~CapturedWork() = default;

void CapturedWork::capture(const std::function<void()>& work) {
  const c10::cuda::CUDAStreamGuard guard(state_->stream);
  c10::cuda::device_synchronize();  // what the work reads may have been written on another stream
  state_->warm_up(work);
  capture_warm(work);
}

void CapturedWork::capture_warm(const std::function<void()>& work) {
  RNNLAB_INVARIANT(!state_->is_captured, "work is captured once");
  try {
    state_->capture(work);
  } catch (const std::exception& error) {
    throw_error(ExitCode::kDevice, "cannot be captured as a CUDA graph: {}", first_line(error.what()));
  }
}

void CapturedWork::replay() {
  RNNLAB_INVARIANT(state_->is_captured, "there is no captured work to replay");
  state_->graph.replay();
}

}  // namespace rnnlab
