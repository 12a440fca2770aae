#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "training/cuda_graph.h"

namespace rnnlab {
namespace {

class CudaGraph : public CapturedWork {
 public:
  CudaGraph(c10::cuda::CUDAStream side, c10::MempoolId_t memory) : stream_(side), pool_(std::move(memory)) {}

  void capture(const std::function<void()>& work) override;
  void capture_warm(const std::function<void()>& work) override;
  void replay() override;

  const c10::cuda::CUDAStream& stream() const { return stream_; }
  c10::MempoolId_t pool() const { return pool_; }

 private:
  void warm_up(const std::function<void()>& work) const;
  void record(const std::function<void()>& work);
  void abandon_capture();

  c10::cuda::CUDAStream stream_;  // for warm-up and capture, because the allocator reuses memory only within a stream
  c10::MempoolId_t pool_;
  at::cuda::CUDAGraph graph_;
  bool is_captured_ = false;
};

void CudaGraph::warm_up(const std::function<void()>& work) const {
  for (int i = 0; i < kWarmupRuns; ++i) work();
  c10::cuda::device_synchronize();
  c10::cuda::CUDACachingAllocator::emptyCache();  // during a capture the allocator cannot free memory
}

// If the end of a capture fails, as it does for work that is not allowed in a capture, LibTorch's allocator stays in
// the state of capturing. This function ends that state.
void CudaGraph::abandon_capture() {
  try {
    graph_.capture_end();
  } catch (const std::exception&) {
    try {
      c10::cuda::CUDACachingAllocator::endAllocateToPool(stream_.device_index(), pool_);
      c10::cuda::CUDACachingAllocator::releasePool(stream_.device_index(), pool_);
    } catch (const std::exception&) {
      // The error is ignored, because it means that LibTorch had already ended the state.
    }
  }
  (void)cudaGetLastError();  // clears the error of the capture, which the next kernel would report otherwise
}

void CudaGraph::record(const std::function<void()>& work) {
  graph_.capture_begin(pool_);
  try {
    work();
    graph_.capture_end();
  } catch (...) {
    abandon_capture();
    throw;
  }
  is_captured_ = true;
}

void CudaGraph::capture(const std::function<void()>& work) {
  const c10::cuda::CUDAStreamGuard guard(stream_);
  c10::cuda::device_synchronize();  // the inputs of the work may have been written on another stream
  warm_up(work);
  capture_warm(work);
}

void CudaGraph::capture_warm(const std::function<void()>& work) {
  RNNLAB_INVARIANT(!is_captured_, "work is captured once");
  try {
    record(work);
  } catch (const std::exception& error) {
    throw_error(ExitCode::kDevice, "cannot be captured as a CUDA graph: {}", first_line(error.what()));
  }
}

void CudaGraph::replay() {
  RNNLAB_INVARIANT(is_captured_, "there is no captured work to replay");
  graph_.replay();
}

std::unique_ptr<CapturedWork> make_graph(c10::Device device, const CapturedWork* shares_memory_with) {
  if (shares_memory_with == nullptr)
    return std::make_unique<CudaGraph>(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index()),
                                       at::cuda::graph_pool_handle());
  const auto& other = dynamic_cast<const CudaGraph&>(*shares_memory_with);
  RNNLAB_INVARIANT(device == other.stream().device(), "graphs that share memory are on one GPU");
  return std::make_unique<CudaGraph>(other.stream(), other.pool());
}

[[maybe_unused]] const bool kGraphFunctions = make_cuda_graph.define(make_graph);

}  // namespace
}  // namespace rnnlab
