// What the operating system says about the machine: processor, memory, load. Unknown is "" or 0, never an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "results/file_version.h"

namespace rnnlab {

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
  }
};

struct HostInfo {
  std::string hostname;
  std::string os;      // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;  // "Linux 6.1.0"
  int64_t memory_bytes = 0;
  int64_t usable_memory_bytes =
      0;                   // what limits leave of it and of swap (memory_limits.h); 0 in files that do not tell
  std::string machine_id;  // machine_id.h
  std::string huge_pages;  // transparent ones: "always", "madvise", "never"; "" if unknown

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
