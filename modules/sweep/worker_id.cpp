#include "sweep/worker_id.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

// A file of /proc has no size, and may be gone at any moment.
std::string text_of_proc(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string own_process_space() {
  std::error_code unreadable;
  const auto target = std::filesystem::read_symlink("/proc/self/ns/pid", unreadable);
  return unreadable ? "" : target.string();
}

std::string variable_or_empty(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string own_job() {
  const std::string array = variable_or_empty("SLURM_ARRAY_JOB_ID"), task = variable_or_empty("SLURM_ARRAY_TASK_ID");
  if (!array.empty() && !task.empty()) return fmt::format("Slurm job {}_{}", array, task);
  const std::string job = variable_or_empty("SLURM_JOB_ID");
  return job.empty() ? "" : "Slurm job " + job;
}

std::string host_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "";
}

int64_t start_of(int64_t process) { return start_in_stat(text_of_proc(fmt::format("/proc/{}/stat", process))); }

bool can_be_seen(const WorkerId& worker, const WorkerId& own) {
  return !own.boot.empty() && !own.process_space.empty() && worker.host == own.host && worker.boot == own.boot &&
         worker.process_space == own.process_space && worker.process > 0;
}

}  // namespace

int64_t start_in_stat(std::string_view stat) {
  // The name of the program stands in parentheses, and may hold some of its own.
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos) return 0;
  const std::vector<std::string> fields = split(stat.substr(name_end + 2), ' ');
  constexpr size_t kState = 0, kStart = 19;  // proc(5): fields 3 and 22
  if (fields.size() <= kStart || fields[kState] == "Z" || fields[kState] == "X") return 0;
  return parse_int64(fields[kStart]).value_or(0);
}

WorkerId this_worker() {
  return {.host = host_name(),
          .boot = std::string(trim(text_of_proc("/proc/sys/kernel/random/boot_id"))),
          .process_space = own_process_space(),
          .process = ::getpid(),
          .started = start_of(::getpid()),
          .job = own_job()};
}

bool has_ended(const WorkerId& worker) {
  if (!can_be_seen(worker, this_worker())) return false;
  if (::kill(static_cast<pid_t>(worker.process), 0) != 0 && errno == ESRCH) return true;
  // The file of another user's process may be hidden, so a process without one may be at work.
  const std::string stat = text_of_proc(fmt::format("/proc/{}/stat", worker.process));
  return !stat.empty() && worker.started != 0 && start_in_stat(stat) != worker.started;
}

std::string describe(const WorkerId& worker) {
  const std::string job = worker.job.empty() ? "" : ", " + worker.job;
  return fmt::format("{}, process {}{}", worker.host, worker.process, job);
}

}  // namespace rnnlab
