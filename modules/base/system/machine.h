// SPDX-License-Identifier: Apache-2.0
// Describes this machine and the part of it that the process may use: CPU model, usable CPUs, quotas of control groups,
// memory. The functions work on Linux only; values that cannot be read are empty.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/system/files.h"

namespace rnnlab {

// Returns a name that distinguishes machines without identifying anyone: sixteen hexadecimal digits of a salted hash of
// the system's machine id and of the firmware's description of the machine. The name is the same for every user and
// after every start. The name is "" if the system has no machine id, as in some containers; containers made from one
// image may share an id. `root` is the root of the file system, or a different folder in tests.
std::string machine_id(const std::filesystem::path& root = "/");

// The control groups (cgroups) of this process, as folders of files with their limits: containers, batch systems and
// systemd limit memory and CPUs there. The functions support version 2, version 1 and both together. A process that can
// see only its own part of the tree, as in a container, gets that part. Without cgroups there are no folders.
// Returns the process's own group first, then its parents up to the root; each of them limits the process. `root` is
// the root of the file system, or a different folder in tests.
std::vector<std::filesystem::path> cgroup_v2_folders(const std::filesystem::path& root = "/");

// Returns these folders for a controller of version 1, such as "memory" or "cpu".
std::vector<std::filesystem::path> cgroup_v1_folders(std::string_view controller,
                                                     const std::filesystem::path& root = "/");

// Returns the number in a file such as memory.max; nothing if the file is missing or contains "max".
std::optional<int64_t> cgroup_number(const std::filesystem::path& file);

// The functions below return how much memory this process may use, according to the operating system. A hard limit ends
// the process or makes an allocation fail: ulimit -v and -d, the cgroups of the process, and the memory of the machine,
// each with the swap that it allows. Left out are GPUs, and memory that processes use already: a need above a hard
// limit can never be met, while a need below it may still fail. Limits that cannot be read are left out.

struct MemoryLimit {
  int64_t bytes = 0;
  std::string name;  // "ulimit -v", "memory.max in /sys/fs/cgroup/user.slice", "the memory of this machine"
  int64_t swap = 0;  // the part of the bytes that is swap
};

struct MemoryLimits {
  std::vector<MemoryLimit> hard;
  std::optional<int64_t> available;  // bytes that the kernel could provide now without paging out, within the cgroups
};

// `root` is the root of the file system, or a different folder in tests; ulimits are always the process's own.
MemoryLimits memory_limits(const std::filesystem::path& root = "/");

// Throws UserError kDevice, "<subject> at least 18.6 GiB of memory, and ulimit -v allows 4.00 GiB: <advice>", if
// `bytes` exceed a hard limit. The message names the smallest limit, and says how much of it is swap.
void require_memory(int64_t bytes, std::string_view subject, std::string_view advice, const MemoryLimits& limits);

// Returns "<subject> at least 18.6 GiB of memory, and 4.00 GiB are free: <advice>" if `bytes` exceed the available
// memory.
std::optional<std::string> memory_warning(int64_t bytes, std::string_view subject, std::string_view advice,
                                          const MemoryLimits& limits);

// Returns how many CPUs this process may keep busy at once: the number of CPUs on which it may run (its affinity), but
// at most the quotas of its control groups, rounded down, because a thread beyond a quota makes all threads pause. At
// least 1. `root` is the root of the file system, or a different folder in tests.
int64_t allowed_cpus(const std::filesystem::path& root = "/");

// Returns the smallest of these quotas, in CPUs (1.5 is the time of one and a half CPUs); nothing if there is no quota.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

// Hold the operating system's description of the machine: processor, memory, load. An unknown value is "" or 0, never
// an error.
struct CpuInfo {
  std::string model;
  int64_t logical_cpus = 0;               // of the machine
  int64_t usable_cpus = 0;                // on which this process may run
  int64_t cores = 0;                      // of the machine, without hyper-threads
  std::vector<std::string> vector_flags;  // "avx2", "avx512f" and the like
  std::vector<double> load_average;       // over 1, 5 and 15 minutes
  double busy_fraction = 0;               // of the usable CPUs by any process, over a tenth of a second
  std::string quota;                      // of control groups: "1.5 CPUs", "none"; "" in files without it
  std::string frequency;                  // its governor: "performance", "powersave without boost"; "" if unknown
  std::string usable_list;                // the numbers of the usable CPUs, "0-3,8"; "" in files without it
  std::optional<int64_t> usable_cores = std::nullopt;  // cores whose threads the usable CPUs are; nothing if unknown

  RNNLAB_FIELDS(model, logical_cpus, usable_cpus, cores, vector_flags, load_average, busy_fraction, since<3>(quota),
                since<3>(frequency), where_given(usable_list), where_given(usable_cores))
};

struct HostInfo {
  std::string hostname;
  std::string os;      // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;  // "Linux 6.1.0"
  int64_t memory_bytes = 0;
  int64_t usable_memory_bytes = 0;  // the part of it and of swap within the limits; 0 in files without it
  std::string machine_id;           // machine_id()
  std::string huge_pages;           // transparent ones: "always", "madvise", "never"; "" if unknown

  RNNLAB_FIELDS(hostname, os, kernel, memory_bytes, since<3>(usable_memory_bytes), since<3>(machine_id),
                since<3>(huge_pages))
};

// Takes a tenth of a second, to measure the busy fraction. The load average is that of the process's first call,
// because later averages include the process's own load.
CpuInfo cpu_info();
HostInfo host_info();

std::string host_name();  // "" if it is unknown

// Return the values of the files below `root`; "" if the files are missing.
std::string frequency_policy(const std::filesystem::path& root = "/");
std::string huge_pages(const std::filesystem::path& root = "/");

// Counts the cores that these CPUs belong to, by the lists of siblings below `root`. Returns nothing if a CPU has no
// such list.
std::optional<int64_t> num_cores(const std::vector<int64_t>& cpus, const std::filesystem::path& root = "/");

// Parses /proc/cpuinfo; load and usable CPUs are left out.
CpuInfo parse_cpuinfo(std::string_view cpuinfo);

// Returns the numbers of the CPUs on which this process may run. If OpenMP binds its threads to parts of these CPUs
// (OMP_PROC_BIND), the calling thread may run only on its own part; the result then has all parts.
std::vector<int64_t> usable_cpus();

// number_list returns "0-3,8" for 0, 1, 2, 3 and 8 (ascending); numbers_in_list returns the numbers of such a text and
// skips parts that are not numbers or ranges.
std::string number_list(const std::vector<int64_t>& numbers);
std::vector<int64_t> numbers_in_list(std::string_view list);

// Returns the present text of /proc/stat.
std::string cpu_counters();

// Holds ticks between two readings of /proc/stat, summed over the CPUs in `cpus`; steal time of a virtual machine is
// busy time.
struct CpuTicks {
  double busy = 0;
  double total = 0;
};
CpuTicks cpu_ticks_between(std::string_view before, std::string_view after, const std::vector<int64_t>& cpus);

// Returns the busy part of the time between two readings of /proc/stat, over the CPUs in `cpus`.
double busy_fraction_between(std::string_view before, std::string_view after, const std::vector<int64_t>& cpus);

// Returns whether other processes that use this part of the usable CPUs' time disturb a run of `num_threads`
// threads: they do if they use a tenth of the CPUs that the run needs, and at least a quarter of one CPU.
bool disturbs(double foreign_cpu_share, int64_t usable_cpus, int64_t num_threads);

}  // namespace rnnlab
