#include "training/device_span.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace rnnlab {
namespace {

void mark(std::optional<c10::Event>& event, c10::Device device) {
  if (!event) event.emplace(device.type(), c10::EventFlag::BACKEND_DEFAULT);  // PYTORCH_DEFAULT keeps no time
  event->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

}  // namespace

DeviceSpan::DeviceSpan(c10::Device device) : device_(device) {}

void DeviceSpan::begin() {
  if (device_.is_cuda()) mark(begin_, device_);
}

void DeviceSpan::end() {
  if (device_.is_cuda()) mark(end_, device_);
}

std::optional<double> DeviceSpan::seconds() const {
  constexpr double kSecondsPerMillisecond = 1e-3;
  if (!begin_ || !end_) return std::nullopt;
  end_->synchronize();
  return begin_->elapsedTime(*end_) * kSecondsPerMillisecond;
}

}  // namespace rnnlab
