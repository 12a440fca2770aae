// LibTorch's profiler, Kineto, over a stretch of the program: the operators and ranges (trace_range.h) of this thread
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
