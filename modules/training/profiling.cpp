#include "training/profiling.h"

#include <ATen/record_function.h>

#include <cstdlib>

#include "training/cuda_functions.h"

namespace rnnlab {

Profiling::Profiling(const std::set<Activity>& activities) {
  using torch::profiler::impl::ProfilerConfig;
  using torch::profiler::impl::ProfilerState;
  // Without this setting Kineto prints a complaint to stderr on a machine without a GPU.
  ::setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0);
  const ProfilerConfig config(ProfilerState::KINETO);
  torch::autograd::profiler::prepareProfiler(config, activities);
  torch::autograd::profiler::enableProfiler(
      config, activities, {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE});
}

Profiling::~Profiling() {
  if (is_running_) torch::autograd::profiler::disableProfiler();
}

std::unique_ptr<torch::autograd::profiler::ProfilerResult> Profiling::finish() {
  is_running_ = false;
  return torch::autograd::profiler::disableProfiler();
}

TraceRange::TraceRange(const char* name) {
  if (begin_profiler_range.is_defined()) begin_profiler_range(name);
  auto watchers = at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE);
  if (!watchers) return;
  record_ = std::make_unique<at::RecordFunction>(std::move(*watchers));
  record_->before(name);
}

TraceRange::~TraceRange() {
  record_.reset();
  if (end_profiler_range.is_defined()) end_profiler_range();
}

}  // namespace rnnlab
