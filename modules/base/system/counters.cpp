// SPDX-License-Identifier: Apache-2.0
#include "base/system/counters.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <iterator>
#include <utility>

#include "base/folder.h"
#include "base/numbers.h"
#include "base/system/machine.h"
#include "base/text.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

FileDescriptor open_to_read(const fs::path& path) { return FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

int64_t number_of(std::string_view word) {
  int64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

std::optional<int64_t> read_number(const FileDescriptor& file) {
  std::array<char, 32> text;
  const ssize_t size = uninterrupted([&] { return ::pread(file.number(), text.data(), text.size(), 0); });
  if (size <= 0) return std::nullopt;
  return number_of({text.data(), static_cast<size_t>(size)});
}

}  // namespace

// A package includes its parts, such as "intel-rapl:0:1", and "psys" includes the packages, so only packages are
// summed.
CpuEnergy::CpuEnergy(const fs::path& root) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "sys/class/powercap", error)) {
    if (!first_line(system_text(entry.path() / "name")).starts_with("package")) continue;
    const std::string range = first_line(system_text(entry.path() / "max_energy_range_uj"));
    packages_.push_back({.counter = open_to_read(entry.path() / "energy_uj"), .range = number_of(range)});
  }
}

void CpuEnergy::start() {
  for (Package& package : packages_) package.start = read_number(package.counter);
}

std::optional<double> CpuEnergy::joules() const {
  constexpr double kJoulesPerMicrojoule = 1e-6;
  int64_t sum = 0;
  for (const Package& package : packages_) {
    const auto now = read_number(package.counter);
    if (!now || !package.start) return std::nullopt;
    sum += *now - *package.start + (*now < *package.start ? package.range : 0);
  }
  if (packages_.empty()) return std::nullopt;
  return kJoulesPerMicrojoule * static_cast<double>(sum);
}

namespace {

// The function makes its own system call, so that a library which replaces the C library's clock_gettime cannot change
// the result.
std::chrono::nanoseconds time_of(clockid_t clock) {
  timespec time{};
  ::syscall(SYS_clock_gettime, clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

double seconds_between(std::chrono::nanoseconds begin, std::chrono::nanoseconds end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Reads the file from its beginning until the buffer is full; the lines of CPUs come first in /proc/stat.
std::string_view read_into(std::array<char, 1 << 16>& room, const FileDescriptor& file) {
  const ssize_t got = uninterrupted([&] { return ::pread(file.number(), room.data(), room.size(), 0); });
  return {room.data(), static_cast<size_t>(std::max<ssize_t>(got, 0))};
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

bool is_virtual_machine(const fs::path& root) {
  return value_of_key(system_text(root / "proc/cpuinfo"), "flags").find(" hypervisor") != std::string::npos;
}

std::vector<FileDescriptor> open_throttle_files(const fs::path& root) {
  std::vector<FileDescriptor> files;
  std::array<char, 1 << 16> room;
  for (const auto& folders : {cgroup_v2_folders(root), cgroup_v1_folders("cpu", root)})
    for (const fs::path& folder : folders) {
      FileDescriptor file = open_to_read(folder / "cpu.stat");
      if (file.is_open() && throttled_seconds_in(read_into(room, file))) files.push_back(std::move(file));
    }
  return files;
}

std::optional<double> difference(std::optional<double> before, std::optional<double> after) {
  if (!before || !after) return std::nullopt;
  return *after - *before;
}

}  // namespace

double steal_seconds_in(std::string_view counters, const std::vector<int64_t>& cpus, double ticks_per_second) {
  constexpr int kSteal = 8;  // "cpu3 user nice system idle iowait irq softirq steal ..."
  int64_t ticks = 0;
  while (counters.starts_with("cpu")) {
    std::string_view line = take_line(counters);
    const std::string_view name = take_word(line);
    if (name == "cpu" || std::ranges::find(cpus, number_of(name.substr(3))) == cpus.end()) continue;
    std::string_view word;
    for (int i = 0; i < kSteal; ++i) word = take_word(line);
    ticks += number_of(word);
  }
  return static_cast<double>(ticks) / ticks_per_second;
}

std::optional<double> throttled_seconds_in(std::string_view cpu_stat) {
  for (const auto& [key, unit] : {std::pair("throttled_usec", 1e-6), std::pair("throttled_time", 1e-9)})
    if (const auto time = parse_int64(value_of_key(cpu_stat, key, ' '))) return unit * static_cast<double>(*time);
  return std::nullopt;
}

EpochCounters::EpochCounters(const std::string& gpu_uuid, const fs::path& root)
    : cpus_(usable_cpus()),
      cpu_counters_(is_virtual_machine(root) ? open_to_read(root / "proc/stat") : FileDescriptor()),
      throttle_files_(open_throttle_files(root)),
      gpu_energy_(gpu_uuid),
      cpu_energy_(root) {}

void EpochCounters::read_counters(Reading& reading) const {
  std::array<char, 1 << 16> room;
  if (cpu_counters_.is_open())
    reading.steal_seconds =
        steal_seconds_in(read_into(room, cpu_counters_), cpus_, static_cast<double>(::sysconf(_SC_CLK_TCK)));
  if (!throttle_files_.empty()) reading.throttled_seconds = 0;
  for (const FileDescriptor& file : throttle_files_)
    *reading.throttled_seconds += throttled_seconds_in(read_into(room, file)).value_or(0);
  if (asks_for_energy_) reading.gpu_joules = gpu_energy_.joules();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  reading.voluntary_switches = usage.ru_nvcsw;
  reading.forced_switches = usage.ru_nivcsw;
}

// The kernel's clock is read last here and first in stop(), next to the span with which it is compared, because a busy
// system often schedules another process when a system call returns.
void EpochCounters::start() {
  start_ = {};
  read_counters(start_);
  cpu_energy_.start();
  start_.cpu_time = time_of(CLOCK_PROCESS_CPUTIME_ID);
  start_.boot_time = time_of(CLOCK_BOOTTIME);
}

// A GPU updates its energy counter ten times a second, and reading the counter of an H200 took three milliseconds. So
// the counter is read only in long epochs; the length of the epoch before predicts whether an epoch is long.
EpochMeasurements EpochCounters::stop() {
  constexpr double kLongEnough = 1;
  Reading end;
  end.boot_time = time_of(CLOCK_BOOTTIME);
  end.cpu_time = time_of(CLOCK_PROCESS_CPUTIME_ID);
  const std::optional<double> cpu_joules = cpu_energy_.joules();
  read_counters(end);
  const double seconds = seconds_between(start_.boot_time, end.boot_time);
  asks_for_energy_ = seconds >= kLongEnough;
  return {.cpu_seconds = seconds_between(start_.cpu_time, end.cpu_time),
          .boot_seconds = seconds,
          .steal_seconds = difference(start_.steal_seconds, end.steal_seconds),
          .throttled_seconds = difference(start_.throttled_seconds, end.throttled_seconds),
          .voluntary_switches = end.voluntary_switches - start_.voluntary_switches,
          .forced_switches = end.forced_switches - start_.forced_switches,
          .gpu_joules = difference(start_.gpu_joules, end.gpu_joules),
          .cpu_joules = cpu_joules};
}

namespace {

// Returns the CPU time of all threads of this process, in user and kernel mode.
double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int64_t num_new(std::vector<int64_t> before, std::vector<int64_t> now) {
  std::ranges::sort(before);
  std::ranges::sort(now);
  std::vector<int64_t> fresh;
  std::ranges::set_difference(now, before, std::back_inserter(fresh));
  return std::ssize(fresh);
}

}  // namespace

double foreign_cpu_share(std::string_view before, std::string_view after, const std::vector<int64_t>& cpus,
                         double own_seconds, double ticks_per_second) {
  const CpuTicks ticks = cpu_ticks_between(before, after, cpus);
  if (ticks.total <= 0) return 0;
  return std::clamp((ticks.busy - own_seconds * ticks_per_second) / ticks.total, 0.0, 1.0);
}

std::vector<Warning> new_gpu_processes(const GpuSurvey& start, const GpuSurvey& now) {
  std::vector<Warning> found;
  for (const GpuInfo& gpu : start.gpus) {
    const auto same = std::ranges::find(now.gpus, gpu.uuid, &GpuInfo::uuid);
    if (same == now.gpus.end()) continue;
    const int64_t count = num_new(gpu.compute_pids, same->compute_pids);
    if (count > 0)
      found.emplace_back(warning::kGpuShared,
                         fmt::format("GPU {} ({}) WAS SHARED: {} started during the run, so its times are not reliable",
                                     same - now.gpus.begin(), same->name, counted(count, "other process")));
  }
  return found;
}

ContentionMonitor::ContentionMonitor(GpuSurvey gpus, int64_t num_threads, int64_t num_processes)
    : gpus_(std::move(gpus)),
      num_threads_(num_threads * num_processes),
      num_processes_(num_processes),
      cpu_counters_(cpu_counters()),
      own_seconds_(own_cpu_seconds()),
      since_(std::chrono::steady_clock::now()) {}

std::vector<Warning> ContentionMonitor::warnings() const {
  constexpr std::chrono::seconds kShortest{1};  // the counters tick a hundred times a second
  std::vector<Warning> found = new_gpu_processes(gpus_, survey_gpus());
  if (std::chrono::steady_clock::now() - since_ < kShortest) return found;
  const std::vector<int64_t> cpus = usable_cpus();
  const double own_seconds = static_cast<double>(num_processes_) * (own_cpu_seconds() - own_seconds_);
  const double part =
      foreign_cpu_share(cpu_counters_, cpu_counters(), cpus, own_seconds, static_cast<double>(::sysconf(_SC_CLK_TCK)));
  if (disturbs(part, std::ssize(cpus), num_threads_))
    found.emplace_back(warning::kCpuShared,
                       fmt::format("THE CPU WAS SHARED: other work took {:.0f} % of {} during the run", 100 * part,
                                   counted(std::ssize(cpus), "usable CPU")));
  return found;
}

}  // namespace rnnlab
