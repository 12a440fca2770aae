// A named stretch of what the host does: a range in NVTX, which Nsight Systems shows, and in LibTorch's profiler while
// one watches this thread (profiling.h). Where nobody watches it costs a few nanoseconds, so it may stay in a step.
#pragma once

#include <memory>

namespace at {
class RecordFunction;
}

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
