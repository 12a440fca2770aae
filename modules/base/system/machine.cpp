// SPDX-License-Identifier: Apache-2.0
#include "base/system/machine.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/sha256.h"
#include "base/text.h"

namespace rnnlab {
namespace {

// The firmware's own id is used only if the system has no machine id, because only root may be able to read it, and the
// name must not depend on the user.
std::string unique_id(const std::filesystem::path& root) {
  for (const char* file : {"etc/machine-id", "var/lib/dbus/machine-id", "sys/class/dmi/id/product_uuid"})
    if (const std::string id = first_line(system_text(root / file)); !id.empty() && id != "uninitialized") return id;
  return "";
}

}  // namespace

std::string machine_id(const std::filesystem::path& root) {
  constexpr size_t kDigits = 16;
  const std::string id = unique_id(root);
  if (id.empty()) return "";
  Sha256 hash;
  hash.update("rnnlab machine\n").update(id);
  for (const char* file : {"sys_vendor", "product_name", "board_name"})
    hash.update("\n").update(first_line(system_text(root / "sys/class/dmi/id" / file)));
  return hash.hex().substr(0, kDigits);
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kMounts = "sys/fs/cgroup";

// Holds a line of /proc/self/cgroup: "4:cpu,cpuacct:/docker/3f2a"; in version 2 "0::/user.slice/a.scope".
struct Membership {
  std::string controllers;
  std::string path;
};

std::vector<Membership> memberships(const fs::path& root) {
  std::ifstream file(root / "proc/self/cgroup");
  std::vector<Membership> found;
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    found.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return found;
}

// Returns the existing folders from the group's folder up to `mount`. For a path outside of what the process can see,
// "/../a", it returns only `mount`.
std::vector<fs::path> folders_up_to(const fs::path& mount, const std::string& path) {
  std::vector<fs::path> folders;
  fs::path group = fs::path(path).relative_path();
  if (std::ranges::find(group, fs::path("..")) != group.end()) group.clear();
  for (; !group.empty(); group = group.parent_path())
    if (is_folder(mount / group)) folders.push_back(mount / group);
  if (is_folder(mount)) folders.push_back(mount);
  return folders;
}

// Version 1 mounts each controller under its name; controllers that share a folder have a link each.
fs::path mount_of(std::string_view controller, const fs::path& root) { return root / kMounts / controller; }

// Version 2 alone is mounted at the top; if version 1 has the controllers, version 2 is mounted below the top.
fs::path unified_mount(const fs::path& root) {
  const fs::path below = root / kMounts / "unified";
  return is_folder(below) ? below : root / kMounts;
}

}  // namespace

std::vector<fs::path> cgroup_v2_folders(const fs::path& root) {
  for (const Membership& one : memberships(root))
    if (one.controllers.empty()) return folders_up_to(unified_mount(root), one.path);
  return {};
}

std::vector<fs::path> cgroup_v1_folders(std::string_view controller, const fs::path& root) {
  for (const Membership& one : memberships(root)) {
    const std::vector<std::string> controllers = split(one.controllers, ',');
    if (std::ranges::find(controllers, controller) != controllers.end())
      return folders_up_to(mount_of(controller, root), one.path);
  }
  return {};
}

std::optional<int64_t> cgroup_number(const fs::path& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return parse_int64(word);
}

namespace {

using Quota = std::optional<double>;

void apply(std::optional<int64_t> quota, std::optional<int64_t> period, Quota& least) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return;  // "max", and -1 in version 1, mean no limit
  const double cpus = static_cast<double>(*quota) / static_cast<double>(*period);
  least = std::min(least.value_or(cpus), cpus);
}

// In version 2 one file has both numbers: "150000 100000" or "max 100000".
void apply_v2(const fs::path& folder, Quota& least) {
  std::ifstream file(folder / "cpu.max");
  std::string quota, period;
  file >> quota >> period;
  apply(parse_int64(quota), parse_int64(period), least);
}

}  // namespace

Quota cpu_quota(const fs::path& root) {
  Quota least;
  for (const fs::path& folder : cgroup_v2_folders(root)) apply_v2(folder, least);
  for (const fs::path& folder : cgroup_v1_folders("cpu", root))
    apply(cgroup_number(folder / "cpu.cfs_quota_us"), cgroup_number(folder / "cpu.cfs_period_us"), least);
  return least;
}

int64_t allowed_cpus(const fs::path& root) {
  const int64_t cpus = std::max<int64_t>(1, static_cast<int64_t>(usable_cpus().size()));
  const Quota quota = cpu_quota(root);
  return quota ? std::clamp<int64_t>(static_cast<int64_t>(*quota), 1, cpus) : cpus;
}

namespace {

// Returns "" if the control groups cannot be read, as in some sandboxes, because there may be a quota then.
std::string quota_text() {
  const auto quota = cpu_quota();
  const bool are_visible = path_exists("/sys/fs/cgroup/cgroup.controllers") || path_exists("/sys/fs/cgroup/cpu");
  if (!quota && !are_visible) return "";
  return quota ? fmt::format("{:.4g} {}", *quota, *quota == 1 ? "CPU" : "CPUs") : "none";
}

int64_t usable_memory_bytes() {
  const std::vector<MemoryLimit> limits = memory_limits().hard;
  const auto least = std::ranges::min_element(limits, {}, &MemoryLimit::bytes);
  return least == limits.end() ? 0 : least->bytes;
}

// The places of OpenMP (OpenMP 5.0, section 3.2.24 and following) are the CPUs to which its threads are bound; unbound
// threads have no places. The functions are looked up by name, because this module is not linked with OpenMP.
std::vector<int64_t> cpus_of_openmp() {
  const auto num_places = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "omp_get_num_places"));
  const auto num_cpus = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_get_place_num_procs"));
  const auto get_cpus = reinterpret_cast<void (*)(int, int*)>(::dlsym(RTLD_DEFAULT, "omp_get_place_proc_ids"));
  if (num_places == nullptr || num_cpus == nullptr || get_cpus == nullptr) return {};
  std::set<int64_t> all;
  for (int place = 0; place < num_places(); ++place) {
    std::vector<int> cpus(static_cast<size_t>(num_cpus(place)));
    get_cpus(place, cpus.data());
    all.insert(cpus.begin(), cpus.end());
  }
  return {all.begin(), all.end()};
}

std::vector<double> load_average() {
  std::array<double, 3> loads{};
  const int got = ::getloadavg(loads.data(), static_cast<int>(loads.size()));
  return {loads.begin(), loads.begin() + std::max(got, 0)};
}

// Parses lines "cpu3 user nice system idle iowait irq softirq steal ...", in ticks. Steal counts as busy, because this
// system cannot use that time.
std::map<std::string, CpuTicks> cpu_times(std::string_view stat) {
  std::map<std::string, CpuTicks> times;
  for (const std::string& line : split(stat, '\n')) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    if (!name.starts_with("cpu")) continue;
    constexpr int kIdle = 3, kIoWait = 4, kLast = 7;
    double ticks = 0;
    for (int i = 0; i <= kLast && fields >> ticks; ++i) {
      times[name].total += ticks;
      if (i != kIdle && i != kIoWait) times[name].busy += ticks;
    }
  }
  return times;
}

}  // namespace

std::vector<int64_t> usable_cpus() {
  if (std::vector<int64_t> bound = cpus_of_openmp(); !bound.empty()) return bound;
  constexpr size_t kBitsOfWord = 8 * sizeof(unsigned long);
  constexpr size_t kMostWords = 4096;
  // The kernel rejects a set that is smaller than its own.
  std::vector<unsigned long> words(CPU_SETSIZE / kBitsOfWord);
  while (::sched_getaffinity(0, words.size() * sizeof(unsigned long), reinterpret_cast<cpu_set_t*>(words.data())) !=
         0) {
    if (errno != EINVAL || words.size() >= kMostWords) return {};
    words.resize(2 * words.size());
  }
  std::vector<int64_t> cpus;
  for (size_t i = 0; i < words.size() * kBitsOfWord; ++i)
    if ((words[i / kBitsOfWord] >> (i % kBitsOfWord) & 1U) != 0) cpus.push_back(static_cast<int64_t>(i));
  return cpus;
}

std::string cpu_counters() { return system_text("/proc/stat"); }

CpuTicks cpu_ticks_between(std::string_view before, std::string_view after, const std::vector<int64_t>& cpus) {
  const auto first = cpu_times(before);
  const auto second = cpu_times(after);
  CpuTicks sum;
  for (const int64_t cpu : cpus) {
    const std::string name = "cpu" + std::to_string(cpu);
    if (!first.contains(name) || !second.contains(name)) continue;
    sum.busy += second.at(name).busy - first.at(name).busy;
    sum.total += second.at(name).total - first.at(name).total;
  }
  return sum;
}

double busy_fraction_between(std::string_view before, std::string_view after, const std::vector<int64_t>& cpus) {
  const CpuTicks ticks = cpu_ticks_between(before, after, cpus);
  return ticks.total > 0 ? std::clamp(ticks.busy / ticks.total, 0.0, 1.0) : 0;
}

std::string number_list(const std::vector<int64_t>& numbers) {
  std::vector<std::string> ranges;
  for (size_t first = 0, next = 1; first < numbers.size(); first = next, ++next) {
    while (next < numbers.size() && numbers[next] == numbers[next - 1] + 1) ++next;
    const int64_t last = numbers[next - 1];
    ranges.push_back(last == numbers[first] ? fmt::format("{}", last) : fmt::format("{}-{}", numbers[first], last));
  }
  return join(ranges, ",");
}

std::vector<int64_t> numbers_in_list(std::string_view list) {
  constexpr int64_t kMostNumbers = 1 << 16;  // a file may contain any range
  std::vector<int64_t> numbers;
  for (const std::string& range : split(list, ',')) {
    const std::vector<std::string> ends = split(range, '-');
    const auto first = parse_int64(ends.front()), last = parse_int64(ends.back());
    if (!first || !last || *last - *first >= kMostNumbers) continue;
    for (int64_t number = *first; number <= *last && std::ssize(numbers) < kMostNumbers; ++number)
      numbers.push_back(number);
  }
  return numbers;
}

bool disturbs(double foreign_cpu_share, int64_t usable_cpus, int64_t num_threads) {
  constexpr double kPartOfNeed = 0.1, kLeast = 0.25;
  const auto needed = static_cast<double>(std::min(num_threads, usable_cpus));
  return foreign_cpu_share * static_cast<double>(usable_cpus) >= std::max(kLeast, kPartOfNeed * needed);
}

CpuInfo parse_cpuinfo(std::string_view cpuinfo) {
  CpuInfo cpu;
  cpu.model = value_of_key(cpuinfo, "model name");
  std::set<std::string> cores;
  std::string package;
  for (const std::string& line : split(cpuinfo, '\n')) {
    if (line.starts_with("processor")) ++cpu.logical_cpus;
    if (line.starts_with("physical id")) package = value_of_key(line, "physical id");
    if (line.starts_with("core id")) cores.insert(package + "/" + value_of_key(line, "core id"));
  }
  cpu.cores = cores.empty() ? cpu.logical_cpus : static_cast<int64_t>(cores.size());
  for (const std::string& flag : split(value_of_key(cpuinfo, "flags"), ' '))
    if (flag.starts_with("avx") || flag.starts_with("amx") || flag == "fma") cpu.vector_flags.push_back(flag);
  return cpu;
}

// The files are documented in the kernel's admin-guide/pm/cpufreq and admin-guide/pm/intel_pstate.
std::string frequency_policy(const std::filesystem::path& root) {
  const std::filesystem::path cpus = root / "sys/devices/system/cpu";
  const std::string governor(trim(system_text(cpus / "cpu0/cpufreq/scaling_governor")));
  const bool has_no_boost = system_text(cpus / "cpufreq/boost").starts_with('0') ||
                            system_text(cpus / "intel_pstate/no_turbo").starts_with('1');
  return governor.empty() ? "" : governor + (has_no_boost ? " without boost" : "");
}

// The text is for example "always [madvise] never"; the chosen value is in brackets (admin-guide/mm/transhuge).
std::string huge_pages(const std::filesystem::path& root) {
  const std::string choices = system_text(root / "sys/kernel/mm/transparent_hugepage/enabled");
  const size_t begin = choices.find('['), end = choices.find(']');
  return begin == std::string::npos || end == std::string::npos ? "" : choices.substr(begin + 1, end - begin - 1);
}

std::optional<int64_t> num_cores(const std::vector<int64_t>& cpus, const std::filesystem::path& root) {
  std::set<std::string> siblings;
  for (const int64_t cpu : cpus) {
    const std::string file = fmt::format("sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu);
    const std::string list = first_line(system_text(root / file));
    if (list.empty()) return std::nullopt;
    siblings.insert(list);
  }
  return siblings.empty() ? std::nullopt : std::optional(static_cast<int64_t>(siblings.size()));
}

std::string host_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "";
}

CpuInfo cpu_info() {
  constexpr auto kSample = std::chrono::milliseconds(100);
  CpuInfo cpu = parse_cpuinfo(system_text("/proc/cpuinfo"));
  const std::vector<int64_t> cpus = usable_cpus();
  cpu.usable_cpus = static_cast<int64_t>(cpus.size());
  cpu.usable_list = number_list(cpus);
  cpu.usable_cores = num_cores(cpus);
  static const std::vector<double> first_load = load_average();
  cpu.load_average = first_load;
  cpu.quota = quota_text();
  cpu.frequency = frequency_policy();
  const std::string before = cpu_counters();
  std::this_thread::sleep_for(kSample);
  cpu.busy_fraction = busy_fraction_between(before, cpu_counters(), cpus);
  return cpu;
}

HostInfo host_info() {
  HostInfo host;
  utsname names{};
  if (::uname(&names) == 0) host.kernel = std::string(names.sysname) + " " + names.release;
  host.hostname = host_name();
  const std::string os = value_of_key(system_text("/etc/os-release"), "PRETTY_NAME", '=');
  host.os = os.size() >= 2 && os.front() == '"' ? os.substr(1, os.size() - 2) : os;
  host.memory_bytes = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  host.usable_memory_bytes = usable_memory_bytes();
  host.machine_id = machine_id();
  host.huge_pages = huge_pages();
  return host;
}

}  // namespace rnnlab
