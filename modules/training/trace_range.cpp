#include "training/trace_range.h"

#include <ATen/record_function.h>
#include <nvtx3/nvToolsExt.h>

namespace rnnlab {

TraceRange::TraceRange(const char* name) {
  nvtxRangePushA(name);
  auto watchers = at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE);
  if (!watchers) return;
  record_ = std::make_unique<at::RecordFunction>(std::move(*watchers));
  record_->before(name);
}

TraceRange::~TraceRange() {
  record_.reset();
  nvtxRangePop();
}

}  // namespace rnnlab
