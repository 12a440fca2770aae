#include "training/trace_range.h"

#include <ATen/record_function.h>

#include "training/cuda_functions.h"

namespace rnnlab {

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
