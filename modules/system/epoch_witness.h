// What the operating system and the energy counters say about a span of time, beside the clock that timed it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "system/files.h"
#include "system/gpu_info.h"

namespace rnnlab {

// What the processors of the machine have taken of energy, by their own counters (RAPL, by Linux's powercap). All that
// runs on them counts, not this process alone. Many systems let only root read it.

class CpuEnergy {
 public:
  // Of the packages below `root`, the root of the file system.
  explicit CpuEnergy(const std::filesystem::path& root = "/");

  // Begins to count.
  void start();

  // Joules since start(), of all packages together. Nothing where one of them does not count. A counter that began at
  // zero again once is put right; one of them takes minutes.
  std::optional<double> joules() const;

 private:
  struct Package {
    FileDescriptor counter;
    int64_t range = 0;  // microjoules at which it begins at zero again
    std::optional<int64_t> start = std::nullopt;
  };

  std::vector<Package> packages_;
};

// What the operating system says of an epoch beside its time: how much the process computed, whether it was kept
// waiting, and how long the epoch was by a second clock. Both readings are taken outside the timed span and cost some
// microseconds each. What the system does not tell is absent.

struct EpochEvidence {
  std::optional<double> cpu_seconds;        // that all threads of the process computed
  std::optional<double> boot_seconds;       // the span by the kernel's clock since boot, asked by a system call
  std::optional<double> steal_seconds;      // that a hypervisor kept the usable CPUs from this system, all together
  std::optional<double> throttled_seconds;  // that the quotas of its control groups held its CPUs, all together
  std::optional<int64_t> voluntary_switches, forced_switches;  // of its threads: to wait, and for others to run
  std::optional<double> gpu_joules;                            // where the epoch before took a second or more
  std::optional<double> cpu_joules;                            // of all processors, for all processes
};

class EpochWitness {
 public:
  // `gpu_uuid`: of the GPU that works, "" for none. `root` is the root of the file system, another folder in tests.
  explicit EpochWitness(const std::string& gpu_uuid = "", const std::filesystem::path& root = "/");

  void start();
  EpochEvidence stop();  // since start()

 private:
  struct Reading {
    std::chrono::nanoseconds cpu_time{}, boot_time{};
    std::optional<double> steal_seconds, throttled_seconds, gpu_joules;
    int64_t voluntary_switches = 0, forced_switches = 0;
  };

  void read_counters(Reading& reading) const;

  std::vector<int64_t> cpus_;
  FileDescriptor cpu_counters_;                 // /proc/stat, in a virtual machine only: elsewhere nobody steals
  std::vector<FileDescriptor> throttle_files_;  // cpu.stat of the groups that may have a quota
  GpuEnergy gpu_energy_;
  CpuEnergy cpu_energy_;
  bool asks_for_energy_ = false;
  Reading start_;
};

// In /proc/stat, over the CPUs in `cpus`.
double steal_seconds_in(std::string_view counters, const std::vector<int64_t>& cpus, double ticks_per_second);

// In a cpu.stat of version 1 or 2; nothing where it has no such line, as that of a group that can have no quota.
std::optional<double> throttled_seconds_in(std::string_view cpu_stat);

}  // namespace rnnlab
