// What the operating system says of an epoch beside its time: how much the process computed, whether it was kept
// waiting, and how long the epoch was by a second clock. Both readings are taken outside the timed span and cost some
// microseconds each. What the system does not tell is absent.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/cpu_energy.h"
#include "results/file_descriptor.h"
#include "results/gpu_energy.h"

namespace rnnlab {

struct EpochEvidence {
  std::optional<double> cpu_seconds;        // that all threads of the process computed
  std::optional<double> boot_seconds;       // the span by the kernel's clock since boot, asked by a system call
  std::optional<double> steal_seconds;      // that a hypervisor kept the usable CPUs from this system, all together
  std::optional<double> throttled_seconds;  // that the quotas of its control groups held its CPUs, all together
  std::optional<int64_t> voluntary_switches, forced_switches;  // of its threads: to wait, and for others to run
  std::optional<double> gpu_joules;                            // where the epoch before took a second or more
  std::optional<double> cpu_joules;                            // of all processors, whoever computed on them
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
