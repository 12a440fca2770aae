// SPDX-License-Identifier: Apache-2.0
// Compares the throughput of each device when a run is divided among more devices with equal batches a device: weak
// scaling. Such runs do not train equally, because an update takes more samples on more devices. So only throughput is
// compared, not losses and not the time to a result. Runs with equal batches a device are compared to those on the
// fewest devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/system/terminal.h"
#include "base/system/warning.h"
#include "results/comparison.h"
#include "results/run_record.h"

namespace rnnlab {

// Describes the throughput of runs of the same work on one number of devices.
struct ScalingResult : GroupFacts {
  int64_t batch_size = 0;        // of an update, all devices together
  int64_t num_processes = 0;     // processes that measured it; a run on several devices counts once
  int64_t num_timed_epochs = 0;  // after warm-up, all runs together
  // The rates are in training samples, and absent when every epoch was warm-up.
  std::optional<double> samples_per_second, samples_per_second_of_device;
  // The efficiency is samples_per_second_of_device divided by the rate of a device among the fewest devices. It is
  // absent for the fewest devices. Its interval requires three processes on each side.
  std::optional<double> efficiency, efficiency_low, efficiency_high;
  bool is_paired = false;  // the interval is over the rounds, in which both sides were measured

  RNNLAB_FIELDS(label, folders, devices, batch_size, num_processes, num_timed_epochs, samples_per_second,
                samples_per_second_of_device, efficiency, efficiency_low, efficiency_high, is_paired, exchange_share,
                slowest_over_fastest)
};

// The results are in ascending order of their numbers of devices. The first result is the reference of the others.
struct ScalingSeries {
  double samples_a_device = 0;  // of an update
  std::vector<ScalingResult> results;

  RNNLAB_FIELDS(samples_a_device, results)
};

struct DeviceScaling {
  int64_t schema_version = kFileVersion;
  std::vector<ScalingSeries> series;
  std::vector<std::string> forced;  // reasons to refuse that --force overrode; empty for a fair comparison
  std::vector<Warning> warnings;    // reasons to doubt the times
  std::vector<std::string> notes;

  RNNLAB_FIELDS(schema_version, series, forced, warnings, notes)
};

// Throws UserError kUsage if no two runs have equal batches a device on different numbers of devices, or if runs differ
// in further properties that affect their speed (all reasons in one message; kForce keeps the comparison).
DeviceScaling device_scaling(const std::vector<RunRecord>& runs, OnDifference on_difference);

// The following functions format a comparison of throughput for a terminal, as CSV and as JSON.

// Tables that do not fit into `width` leave out their least important columns, and a line names them.
std::string device_scaling_text(const DeviceScaling& scaling, size_t width = kAnyWidth);

// Returns one line for each group of runs. The column samples_a_device identifies the series of the group.
std::string device_scaling_csv(const DeviceScaling& scaling);

std::string device_scaling_json(const DeviceScaling& scaling);

}  // namespace rnnlab
