// The time between two moments by a GPU's own clock, from marks in its queue: a second witness for what the host's
// clock says, since it is right whether or not the host waited.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <optional>

namespace rnnlab {

class DeviceSpan {
 public:
  explicit DeviceSpan(c10::Device device);

  // Marks on the current stream; neither waits.
  void begin();
  void end();

  // From the first mark to the second, for which it waits. Nothing on a CPU, which has no clock but the host's.
  std::optional<double> seconds() const;

 private:
  c10::Device device_;
  std::optional<c10::Event> begin_, end_;
};

}  // namespace rnnlab
