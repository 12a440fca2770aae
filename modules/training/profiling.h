// LibTorch's profiler, Kineto, over a stretch of the program: the operators and ranges (profiling.h) of this thread
// and of those that autograd runs backward passes on, and what a GPU did. One at a time in a process.
#pragma once

#include <torch/csrc/autograd/profiler_kineto.h>

#include <memory>
#include <set>

namespace rnnlab {

// From its making to finish(); an exception between them ends it too. Watching a GPU leaves hooks in the driver behind
// that may slow down what the process does later.
class Profiling {
 public:
  using Activity = torch::profiler::impl::ActivityType;

  explicit Profiling(const std::set<Activity>& activities);
  ~Profiling();
  Profiling(const Profiling&) = delete;
  Profiling& operator=(const Profiling&) = delete;

  // Once. What a GPU has not finished by now is left out.
  std::unique_ptr<torch::autograd::profiler::ProfilerResult> finish();

 private:
  bool is_running_ = true;
};

}  // namespace rnnlab

namespace at {

// A named stretch of what the host does: a range in NVTX, which Nsight Systems shows, and in LibTorch's profiler while
// one watches this thread (profiling.h). Where nobody watches it costs a few nanoseconds, so it may stay in a step.

class RecordFunction;
}  // namespace at

namespace rnnlab {

// From its making to its end, on one thread. Ranges nest.
class TraceRange {
 public:
  // `name` must outlive the profile: a literal.
  explicit TraceRange(const char* name);
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;

 private:
  std::unique_ptr<at::RecordFunction> record_;
};

}  // namespace rnnlab
