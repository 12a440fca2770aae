// What this machine is and what of it the process may use: CPU model, usable CPUs, quotas of control groups, memory.
// Linux alone; what cannot be read is blank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "system/file_version.h"

namespace rnnlab {

// A name for this machine that tells two machines apart and names no one.

// Sixteen hexadecimal digits of a salted hash of the system's machine id and of what the firmware says of the machine.
// The same for every user and after every start. "" where the system has no such id, as some containers; containers
// made from one image may share one. `root` is the root of the file system, another folder in tests.
std::string machine_id(const std::filesystem::path& root = "/");

// The control groups (cgroups) that this process is in, as folders of files with their limits: containers, batch
// systems and systemd limit memory and CPUs there. Reads version 2, version 1 and both side by side. A process that
// sees only its own part of the tree, as in a container, gets that part. Without cgroups there are no folders.

// The process's own group first, then those around it up to the root: each of them limits it. `root` is the root of the
// file system, another folder in tests.
std::vector<std::filesystem::path> cgroup_v2_folders(const std::filesystem::path& root = "/");

// The same for a controller of version 1, such as "memory" or "cpu".
std::vector<std::filesystem::path> cgroup_v1_folders(std::string_view controller,
                                                     const std::filesystem::path& root = "/");

// The number in a file such as memory.max. Nothing where the file is missing or says "max".
std::optional<int64_t> cgroup_number(const std::filesystem::path& file);

// How much memory this process may take, as the operating system says it. A hard limit is one that ends the process or
// makes an allocation fail: ulimit -v and -d, the cgroups around it, and the memory of the machine, each with the swap
// that it allows. Left out are GPUs, and what the process and others have taken already: a need beyond a hard limit can
// never be met, while a need below it may still fail. What cannot be read is left out.

struct MemoryLimit {
  int64_t bytes = 0;
  std::string name;  // "ulimit -v", "memory.max in /sys/fs/cgroup/user.slice", "the memory of this machine"
};

struct MemoryLimits {
  std::vector<MemoryLimit> hard;
  std::optional<int64_t> available;  // bytes that the kernel would give now without paging out
};

// `root` is the root of the file system, another folder in tests; ulimits are the process's own either way.
MemoryLimits memory_limits(const std::filesystem::path& root = "/");

// UserError kDevice, "<subject> at least 18.6 GiB of memory, and ulimit -v allows 4.00 GiB: <advice>", where `bytes`
// are beyond a hard limit; it names the smallest.
void require_memory(int64_t bytes, std::string_view subject, std::string_view advice, const MemoryLimits& limits);

// "<subject> at least 18.6 GiB of memory, and 4.00 GiB are free: <advice>", where that is so.
std::optional<std::string> memory_warning(int64_t bytes, std::string_view subject, std::string_view advice,
                                          const MemoryLimits& limits);

// How many CPUs this process may keep busy at once.

// The CPUs that it may run on (its affinity), but no more than the quotas of its control groups last for, rounded down:
// a thread beyond a quota makes all threads pause. At least 1. `root` is the root of the file system, another folder in
// tests.
int64_t allowed_cpus(const std::filesystem::path& root = "/");

// The least of those quotas, in CPUs: 1.5 is three halves of a CPU's time. Nothing where there is none.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

// What the operating system says about the machine: processor, memory, load. Unknown is "" or 0, never an error.

struct CpuInfo {
  std::string model;
  int64_t logical_cpus = 0;               // of the machine
  int64_t usable_cpus = 0;                // that this process may run on
  int64_t cores = 0;                      // of the machine, without hyper-threads
  std::vector<std::string> vector_flags;  // "avx2", "avx512f" and the like
  std::vector<double> load_average;       // over 1, 5 and 15 minutes
  double busy_fraction = 0;               // of the usable CPUs by any process, over a tenth of a second
  std::string quota;                      // of control groups: "1.5 CPUs", "none"; "" in files that do not tell
  std::string frequency;                  // who chooses it: "performance", "powersave without boost"; "" if unknown
  std::string usable_list;                // the usable CPUs by their numbers, "0-3,8"; "" in files that do not tell
  std::optional<int64_t> usable_cores = std::nullopt;  // that the usable CPUs are threads of; nothing if unknown

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("model", self.model);
    field("logical_cpus", self.logical_cpus);
    field("usable_cpus", self.usable_cpus);
    field("cores", self.cores);
    field("vector_flags", self.vector_flags);
    field("load_average", self.load_average);
    field("busy_fraction", self.busy_fraction);
    field("quota", self.quota, 3);
    field("frequency", self.frequency, 3);
    field("usable_list", self.usable_list, kWhereGiven);
    field("usable_cores", self.usable_cores, kWhereGiven);
  }
};

struct HostInfo {
  std::string hostname;
  std::string os;      // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;  // "Linux 6.1.0"
  int64_t memory_bytes = 0;
  int64_t usable_memory_bytes = 0;  // what limits leave of it and of swap (machine.h); 0 in files that do not tell
  std::string machine_id;           // machine.h
  std::string huge_pages;           // transparent ones: "always", "madvise", "never"; "" if unknown

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("hostname", self.hostname);
    field("os", self.os);
    field("kernel", self.kernel);
    field("memory_bytes", self.memory_bytes);
    field("usable_memory_bytes", self.usable_memory_bytes, 3);
    field("machine_id", self.machine_id, 3);
    field("huge_pages", self.huge_pages, 3);
  }
};

// Takes a tenth of a second, for the busy fraction. The load average is that of the process's first call: later ones
// would see the process's own load.
CpuInfo cpu_info();
HostInfo host_info();

// What the files below `root` say; "" where they are not.
std::string frequency_policy(const std::filesystem::path& root = "/");
std::string huge_pages(const std::filesystem::path& root = "/");

// How many cores these CPUs belong to, by the lists of siblings below `root`; nothing if one of them has no such list.
std::optional<int64_t> num_cores(const std::vector<int64_t>& cpus, const std::filesystem::path& root = "/");

// What /proc/cpuinfo says; load and usable CPUs are left out.
CpuInfo parse_cpuinfo(std::string_view cpuinfo);

// The CPUs that this process may run on, by their numbers. Where OpenMP binds each of its threads to a part of them
// (OMP_PROC_BIND), the calling thread may run on that part alone: then all parts.
std::vector<int64_t> usable_cpus();

// "0-3,8" of 0, 1, 2, 3 and 8, ascending; and the numbers again, as far as the text is such a list.
std::string number_list(const std::vector<int64_t>& numbers);
std::vector<int64_t> numbers_in_list(std::string_view list);

// /proc/stat as it stands.
std::string cpu_counters();

// Between two readings of it, over the CPUs in `cpus`: time that is taken from a virtual machine counts as busy.
struct CpuTicks {
  double busy = 0;
  double total = 0;
};
CpuTicks cpu_ticks_between(std::string_view before, std::string_view after, const std::vector<int64_t>& cpus);

// The busy part of the time between two readings of /proc/stat, over the CPUs in `cpus`.
double busy_fraction_between(std::string_view before, std::string_view after, const std::vector<int64_t>& cpus);

// Whether others that take this part of the usable CPUs' time disturb a run of `num_threads` threads: by a tenth of the
// CPUs that it needs, and never by less than a quarter of one.
bool disturbs(double part_of_others, int64_t usable_cpus, int64_t num_threads);

}  // namespace rnnlab
