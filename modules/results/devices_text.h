// What is told of several devices: the speed-ups of a comparison as a table; and a comparison of throughput by devices
// for a terminal, and its numbers as CSV and JSON.
#pragma once

#include <string>

#include "results/device_scaling.h"
#include "results/table.h"

namespace rnnlab {

std::string device_scaling_text(const DeviceScaling& scaling);

// A line for each group of runs, whose column samples_a_device says to which series it belongs.
std::string device_scaling_csv(const DeviceScaling& scaling);

std::string device_scaling_json(const DeviceScaling& scaling);

// Speed-up and efficiency of the groups of a comparison that have one, or an empty table.
TextTable device_speed_table(const Comparison& comparison);

// What its columns mean, a sentence each.
std::vector<std::string> device_speed_legend();

}  // namespace rnnlab
