#include "training/device_span.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace rnnlab {
namespace {

c10::Event mark_in_queue(c10::Device device) {
  c10::Event event(device.type(), c10::EventFlag::BACKEND_DEFAULT);  // PYTORCH_DEFAULT keeps no time
  event.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  return event;
}

}  // namespace

DeviceSpan::DeviceSpan(c10::Device device) : device_(device) {}

void DeviceSpan::begin() {
  if (device_.is_cuda()) begin_.emplace(mark_in_queue(device_));
}

void DeviceSpan::end() {
  if (device_.is_cuda()) end_.emplace(mark_in_queue(device_));
}

std::optional<double> DeviceSpan::seconds() const {
  constexpr double kSecondsPerMillisecond = 1e-3;
  if (!begin_ || !end_) return std::nullopt;
  end_->synchronize();
  return begin_->elapsedTime(*end_) * kSecondsPerMillisecond;
}

}  // namespace rnnlab
