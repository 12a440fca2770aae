// SPDX-License-Identifier: Apache-2.0
// Measures a span of time by the operating system's counters and by energy counters: EpochCounters measures an epoch,
// to check the clock that timed it, and ContentionMonitor detects other processes that use the machine during a run.
// Both compare two readings, which costs the run no time. results/environment.h records the machine once, at the start.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/files.h"
#include "base/system/gpu_info.h"
#include "base/system/warning.h"

namespace rnnlab {

// Measures the energy used by the processors of the machine, by their own counters (RAPL, through Linux's powercap).
// The energy includes that of all programs on the processors, not only of this process. On many systems only root may
// read the counters.
class CpuEnergy {
 public:
  // Finds the packages below `root`, the root of the file system.
  explicit CpuEnergy(const std::filesystem::path& root = "/");

  // Begins to count.
  void start();

  // Returns the joules since start(), over all packages; nothing if there is no package or a counter cannot be read.
  // The result is right if a counter has overflowed at most once; a counter overflows within minutes.
  std::optional<double> joules() const;

 private:
  struct Package {
    FileDescriptor counter;
    int64_t range = 0;  // microjoules after which it starts again at zero
    std::optional<int64_t> start = std::nullopt;
  };

  std::vector<Package> packages_;
};

// Holds the operating system's measurements of an epoch, in addition to its time: how much the process computed,
// whether it had to wait, and how long the epoch was by a second clock. Both readings are taken outside the timed span
// and take some microseconds each. Values that the system does not provide are absent.
struct EpochMeasurements {
  std::optional<double> cpu_seconds;        // computed by all threads of the process
  std::optional<double> boot_seconds;       // the span by the kernel's clock since boot, read by a system call
  std::optional<double> steal_seconds;      // during which a hypervisor withheld usable CPUs, summed over CPUs
  std::optional<double> throttled_seconds;  // during which quotas of control groups paused CPUs, summed over CPUs
  std::optional<int64_t> voluntary_switches, forced_switches;  // of its threads: to wait, and preempted
  std::optional<double> gpu_joules;                            // only if the epoch before took a second or more
  std::optional<double> cpu_joules;                            // of all processors, for all processes
};

class EpochCounters {
 public:
  // `gpu_uuid` is the UUID of the GPU that computes, "" for none. `root` is the root of the file system, or a different
  // folder in tests.
  explicit EpochCounters(const std::string& gpu_uuid = "", const std::filesystem::path& root = "/");

  void start();
  EpochMeasurements stop();  // since start()

 private:
  struct Reading {
    std::chrono::nanoseconds cpu_time{}, boot_time{};
    std::optional<double> steal_seconds, throttled_seconds, gpu_joules;
    int64_t voluntary_switches = 0, forced_switches = 0;
  };

  void read_counters(Reading& reading) const;

  std::vector<int64_t> cpus_;
  FileDescriptor cpu_counters_;  // /proc/stat; open in a virtual machine only, because elsewhere there is no steal
  std::vector<FileDescriptor> throttle_files_;  // cpu.stat of the groups that may have a quota
  GpuEnergy gpu_energy_;
  CpuEnergy cpu_energy_;
  bool asks_for_energy_ = false;
  Reading start_;
};

// Returns the steal time in /proc/stat, summed over the CPUs in `cpus`.
double steal_seconds_in(std::string_view counters, const std::vector<int64_t>& cpus, double ticks_per_second);

// Returns the throttled time in a cpu.stat of version 1 or 2; nothing if the line is missing, as for a group that
// cannot have a quota.
std::optional<double> throttled_seconds_in(std::string_view cpu_stat);

class ContentionMonitor {
 public:
  // Begins the period. `gpus` are the GPUs to watch, as surveyed when this process already uses them, because in a
  // container this process cannot tell its own id on a GPU from those of other processes. `num_threads` is the
  // number of CPUs that the work needs. `num_processes` processes of this host do the work together, each as much as
  // this one.
  ContentionMonitor(GpuSurvey gpus, int64_t num_threads, int64_t num_processes = 1);

  // Returns warnings for the time since the construction: "THE CPU WAS SHARED: ...", "GPU 0 (NVIDIA H200) WAS SHARED:
  // ...".
  std::vector<Warning> warnings() const;

 private:
  GpuSurvey gpus_;
  int64_t num_threads_;
  int64_t num_processes_;
  std::string cpu_counters_;
  double own_seconds_;
  std::chrono::steady_clock::time_point since_;
};

// Returns the part of the time of `cpus` that other processes used between two readings of /proc/stat. This process
// used `own_seconds`, and a second has `ticks_per_second`.
double foreign_cpu_share(std::string_view before, std::string_view after, const std::vector<int64_t>& cpus,
                         double own_seconds, double ticks_per_second);

// Returns a warning for each GPU of `start`, identified by its UUID, on which new processes compute in `now`.
std::vector<Warning> new_gpu_processes(const GpuSurvey& start, const GpuSurvey& now);

}  // namespace rnnlab
