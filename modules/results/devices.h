// Runs on several devices: how many, by which engine, and what each device adds to the speed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/run_record.h"

namespace rnnlab {

// Among how many devices a run was divided, a process each, and whether two runs differ in their number alone.

// 1 of a process that trained alone.
int64_t num_devices(const RunRecord& run);

// Of an update, or their mean where they cannot be divided evenly.
double samples_a_device(const RunRecord& run);

// "gloo"; "" of a process that trained alone.
std::string exchange_engine(const RunRecord& run);

// It was resumed with another number, so its epochs are of several.
bool has_changed_devices(const RunRecord& run);

// "used" or "not used", for steps as CUDA graphs. A run may have asked for them and not got them, which its settings
// do not tell.
std::string graphs_text(const RunRecord& run);

// "cpu" or "cuda", whichever number it has.
std::string kind_of_device(const RunRecord& run);

// Whether each process of both runs has as many threads, or both runs have as many in all, but for rounding.
bool have_equal_threads(const RunRecord& a, const RunRecord& b);
bool share_equal_threads(const RunRecord& a, const RunRecord& b);

// Same work on as many samples an update, in the same way: only the number of devices differs, and what follows from it
// (threads of a process). Not of a run whose number changed, and of other programs.
bool differ_in_devices_alone(const RunRecord& a, const RunRecord& b);

// How much faster several devices are than fewer of them at the same work, and what part of them that makes use of.

// An interval only where both sides have three processes or more, as that of a ratio of times (comparison.h).
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
