// Records a section of the program with Kineto, LibTorch's profiler: the operators and ranges of this thread and of the
// threads that run autograd's backward passes, and the work of a GPU. A process can have one recording at a time.
#pragma once

#include <torch/csrc/autograd/profiler_kineto.h>

#include <memory>
#include <set>

namespace at {
class RecordFunction;
}  // namespace at

namespace rnnlab {

// Records from its construction to finish() or, after an exception, to its destruction. Recording a GPU leaves hooks in
// the driver that may slow down the process afterwards.
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

}  // namespace rnnlab
