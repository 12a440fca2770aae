// How much faster several devices are than fewer of them at the same work, and what part of them that makes use of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/run_record.h"

namespace rnnlab {

// An interval only where both sides have three processes or more, as that of a ratio of times (group_time.h).
struct DeviceSpeed {
  std::string reference;          // the label of the same work on the fewest devices
  int64_t reference_devices = 1;  // that it has
  // The reference's seconds over this group's.
  double speed_up = 0;
  std::optional<double> speed_up_low, speed_up_high;
  // The speed-up over the quotient of the numbers of devices. Absent on CPUs whose processes have other numbers of
  // threads: then more devices are not more CPUs.
  std::optional<double> efficiency, efficiency_low, efficiency_high;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("reference", self.reference);
    field("reference_devices", self.reference_devices);
    field("speed_up", self.speed_up);
    field("speed_up_low", self.speed_up_low);
    field("speed_up_high", self.speed_up_high);
    field("efficiency", self.efficiency);
    field("efficiency_low", self.efficiency_low);
    field("efficiency_high", self.efficiency_high);
  }
};

// Nothing where no other group differs from this one in having fewer devices alone, or one of the two has no time.
std::optional<DeviceSpeed> device_speed(const RunGroup& group, const std::vector<RunGroup>& groups);

// Why a speed-up has no efficiency; "" where it has.
std::string efficiency_note(const RunGroup& group, const std::vector<RunGroup>& groups);

}  // namespace rnnlab
