// SPDX-License-Identifier: Apache-2.0
#include "train/loop/cuda_functions.h"

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <mutex>
#include <utility>

#include "base/text.h"
#include "layers/device/run_kernels_on_cuda.h"
#include "train/loop/kernels/loss.h"
#include "train/loop/kernels/optimizer.h"

namespace rnnlab {
namespace {

void begin_range(const char* name) { nvtxRangePushA(name); }
void end_range() { nvtxRangePop(); }

constexpr uint64_t kNumbersPerSection = uint64_t{1} << 26;  // for each thread of a kernel

void move_to_section(c10::Device device, uint64_t seed, uint64_t first, uint64_t next) {
  const at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(device.index());
  auto* const on_gpu = at::check_generator<at::CUDAGeneratorImpl>(generator);
  const std::lock_guard<std::mutex> lock(on_gpu->mutex_);
  if (c10::cuda::currentStreamCaptureStatusMayInitCtx() == c10::cuda::CaptureStatus::None) {
    on_gpu->set_current_seed(seed);
    return on_gpu->set_philox_offset_per_thread((first + next) * kNumbersPerSection);
  }
  const uint64_t here = on_gpu->philox_cuda_state(0).offset_intragraph_, there = next * kNumbersPerSection;
  RNNLAB_INVARIANT(here <= there, "a step must not draw more random numbers than a section has");
  on_gpu->philox_cuda_state(there - here);
}

[[maybe_unused]] const bool kTrainingFunctions =
    move_generator.define(move_to_section) && begin_profiler_range.define(begin_range) &&
    end_profiler_range.define(end_range) &&
    define_kernels<kernels::AdamUpdate, kernels::CrossEntropy, kernels::ElementLoss, kernels::FillMessage,
                   kernels::Norms, kernels::ReadClock, kernels::StepNumbers, kernels::SumOfRanks>();

class CudaGraph : public CapturedWork {
 public:
  CudaGraph(c10::cuda::CUDAStream side, c10::MempoolId_t memory) : stream_(side), pool_(std::move(memory)) {}

  void capture(const std::function<void()>& work) override;
  void capture_without_warmup(const std::function<void()>& work) override;
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
    } catch (const std::exception&) {  // is not an error, because LibTorch had already ended the state
    }
  }
  (void)cudaGetLastError();  // clears the error of the capture, which the next kernel would report otherwise
}

void CudaGraph::record(const std::function<void()>& work) {
  // Other threads prepare batches and may call CUDA meanwhile.
  graph_.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
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
  capture_without_warmup(work);
}

void CudaGraph::capture_without_warmup(const std::function<void()>& work) {
  RNNLAB_INVARIANT(!is_captured_, "work must be captured only once");
  try {
    record(work);
  } catch (const std::exception& error) {
    throw_error(ExitCode::kDevice, "cannot be captured as a CUDA graph: {}", first_line(error.what()));
  }
}

void CudaGraph::replay() {
  RNNLAB_INVARIANT(is_captured_, "work must be captured before it is replayed");
  graph_.replay();
}

std::unique_ptr<CapturedWork> make_graph(c10::Device device, const CapturedWork* shares_memory_with) {
  if (shares_memory_with == nullptr)
    return std::make_unique<CudaGraph>(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index()),
                                       at::cuda::graph_pool_handle());
  const auto& other = dynamic_cast<const CudaGraph&>(*shares_memory_with);
  RNNLAB_INVARIANT(device == other.stream().device(), "graphs that share memory must be on one GPU");
  return std::make_unique<CudaGraph>(other.stream(), other.pool());
}

[[maybe_unused]] const bool kGraphFunctions = make_cuda_graph.define(make_graph);

}  // namespace
}  // namespace rnnlab
