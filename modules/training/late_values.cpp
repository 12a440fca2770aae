#include "training/late_values.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

namespace rnnlab {

void LateValues::append(const at::Tensor& values) {
  if (values.is_cpu()) {
    copies_.push_back({values.clone(), std::nullopt});
    return;
  }
  const at::Tensor on_host = at::empty(values.sizes(), values.options().device(at::kCPU).pinned_memory(true));
  on_host.copy_(values, /*non_blocking=*/true);
  c10::Event written(values.device().type());
  written.record(c10::impl::VirtualGuardImpl(values.device().type()).getStream(values.device()));
  copies_.push_back({on_host, std::move(written)});
}

std::optional<at::Tensor> LateValues::next(const WaitUntil& wait_until) {
  const size_t most_left = !copies_.empty() && copies_.front().written ? kTurnsBehind : 0;
  if (copies_.size() <= most_left) return std::nullopt;
  const Copy copy = std::move(copies_.front());
  copies_.pop_front();
  if (copy.written) wait_until([&] { return copy.written->query(); });
  return copy.on_host;
}

}  // namespace rnnlab
