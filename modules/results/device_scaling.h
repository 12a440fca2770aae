// What each device gets done as a run is divided among more of them, with equal batches a device: weak scaling. Such
// runs do not train the same, because an update takes more samples with more devices, so this compares throughput and
// nothing else: no losses, and no time to a result. Runs of one batch a device are set against those on the fewest
// devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/comparison.h"
#include "results/run_record.h"
#include "system/table.h"
#include "system/warning.h"

namespace rnnlab {

// Runs of the same work on as many devices.
struct ScalingResult {
  std::string label;
  std::vector<std::string> folders;
  int64_t devices = 1;
  int64_t batch_size = 0;        // of an update, all devices together
  int64_t num_processes = 0;     // that measured it: runs divided among several devices count once
  int64_t num_timed_epochs = 0;  // after warm-up, all runs together
  // Training samples; absent when every epoch was warm-up.
  std::optional<double> samples_per_second, samples_per_second_of_device;
  // samples_per_second_of_device over that of the fewest devices; absent for these. The interval needs three processes
  // a side.
  std::optional<double> efficiency, efficiency_low, efficiency_high;
  bool is_paired = false;                      // the interval is over the rounds, in which both sides were measured
  std::optional<double> exchange_share;        // of an epoch, that was spent in the exchange and nothing hid (median)
  std::optional<double> slowest_over_fastest;  // process of an epoch (median)

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("label", self.label);
    field("folders", self.folders);
    field("devices", self.devices);
    field("batch_size", self.batch_size);
    field("num_processes", self.num_processes);
    field("num_timed_epochs", self.num_timed_epochs);
    field("samples_per_second", self.samples_per_second);
    field("samples_per_second_of_device", self.samples_per_second_of_device);
    field("efficiency", self.efficiency);
    field("efficiency_low", self.efficiency_low);
    field("efficiency_high", self.efficiency_high);
    field("is_paired", self.is_paired);
    field("exchange_share", self.exchange_share);
    field("slowest_over_fastest", self.slowest_over_fastest);
  }
};

// In the order of their numbers of devices; the first is what the others are set against.
struct ScalingSeries {
  double samples_a_device = 0;  // of an update
  std::vector<ScalingResult> results;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("samples_a_device", self.samples_a_device);
    field("results", self.results);
  }
};

struct DeviceScaling {
  int64_t schema_version = kFileVersion;
  std::vector<ScalingSeries> series;
  std::vector<std::string> forced;  // why it should have been refused; empty for a fair comparison
  std::vector<Warning> warnings;    // what makes the times doubtful
  std::vector<std::string> notes;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("schema_version", self.schema_version);
    field("series", self.series);
    field("forced", self.forced);
    field("warnings", self.warnings);
    field("notes", self.notes);
  }
};

// UserError kUsage when no two runs have equal batches a device on different numbers of devices, or runs differ in what
// bears on their speed beyond both (all reasons at once; kForce keeps them).
DeviceScaling device_scaling(const std::vector<RunRecord>& runs, OnDifference on_difference);

// What is told of several devices: the speed-ups of a comparison as a table; and a comparison of throughput by devices
// for a terminal, and its numbers as CSV and JSON.

std::string device_scaling_text(const DeviceScaling& scaling);

// A line for each group of runs, whose column samples_a_device says to which series it belongs.
std::string device_scaling_csv(const DeviceScaling& scaling);

std::string device_scaling_json(const DeviceScaling& scaling);

// Speed-up and efficiency of the groups of a comparison that have one, or an empty table.
TextTable device_speed_table(const Comparison& comparison);

// What its columns mean, a sentence each.
std::vector<std::string> device_speed_legend();

}  // namespace rnnlab
