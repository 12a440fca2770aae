// Describes runs on several devices: the number of devices, the engine of their exchange, and their speed-up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/run_record.h"

namespace rnnlab {

// Returns the number of devices among which the run was divided, with one process each; 1 for a process that trained
// alone.
int64_t num_devices(const RunRecord& run);

// Returns the samples of an update for each device, or their mean if the batch cannot be divided evenly.
double samples_a_device(const RunRecord& run);

// Returns the engine, such as "gloo"; "" for a process that trained alone.
std::string exchange_engine(const RunRecord& run);

// Returns whether the run was resumed on a different number of devices, so that its epochs ran on several numbers.
bool has_changed_devices(const RunRecord& run);

// Returns "used" or "not used", for CUDA graphs of steps. A run may have requested graphs without getting them; the
// settings do not show this.
std::string graphs_text(const RunRecord& run);

// Returns "cpu" or "cuda", without the number of the device.
std::string kind_of_device(const RunRecord& run);

// Returns whether each process of both runs has the same number of threads.
bool have_equal_threads(const RunRecord& a, const RunRecord& b);
// Returns whether runs on different numbers of devices have the same number of threads in total, except for rounding.
bool share_equal_threads(const RunRecord& a, const RunRecord& b);

// Returns whether both runs did the same work with the same batch size in the same way, so that only the number of
// devices and its consequences (threads of a process) differ. False for a run whose number of devices changed, and for
// runs of other programs.
bool differ_in_devices_alone(const RunRecord& a, const RunRecord& b);

// Compares the speed of several devices with the speed of fewer devices at the same work. The intervals require at
// least three processes on each side, as for a ratio of times (comparison.h).
struct DeviceSpeed {
  std::string reference;          // the label of the same work on the fewest devices
  int64_t reference_devices = 1;  // number of devices of the reference
  // The speed-up is the reference's seconds over this group's.
  double speed_up = 0;
  std::optional<double> speed_up_low, speed_up_high;
  // The efficiency is the speed-up over the quotient of the numbers of devices. It is absent on CPUs whose processes
  // have different numbers of threads, because more devices are then not more CPUs.
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

// Returns nothing if no other group does the same work on fewer devices, or if one of both groups has no time.
std::optional<DeviceSpeed> device_speed(const RunGroup& group, const std::vector<RunGroup>& groups);

// Returns why a speed-up has no efficiency; "" if there is an efficiency, or no speed-up.
std::string efficiency_note(const RunGroup& group, const std::vector<RunGroup>& groups);

}  // namespace rnnlab
