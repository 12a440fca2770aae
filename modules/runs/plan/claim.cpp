// SPDX-License-Identifier: Apache-2.0
#include "runs/plan/claim.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/random.h"
#include "base/regular_file.h"
#include "base/system/json_fields.h"
#include "base/system/machine.h"
#include "base/text.h"

namespace rnnlab {
namespace {

std::string own_job() {
  const std::string array = environment_variable("SLURM_ARRAY_JOB_ID"),
                    task = environment_variable("SLURM_ARRAY_TASK_ID");
  if (!array.empty() && !task.empty()) return fmt::format("Slurm job {}_{}", array, task);
  const std::string job = environment_variable("SLURM_JOB_ID");
  return job.empty() ? "" : "Slurm job " + job;
}

int64_t start_of(int64_t process) { return start_in_stat(system_text(fmt::format("/proc/{}/stat", process))); }

bool is_inspectable(const WorkerId& worker, const WorkerId& own) {
  return !own.boot.empty() && !own.process_space.empty() && worker.host == own.host && worker.boot == own.boot &&
         worker.process_space == own.process_space && worker.process > 0;
}

}  // namespace

int64_t start_in_stat(std::string_view stat) {
  // The name of the program is in parentheses, and may itself contain parentheses.
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos) return 0;
  const std::vector<std::string> fields = split(stat.substr(name_end + 2), ' ');
  constexpr size_t kState = 0, kStart = 19;  // proc(5): fields 3 and 22
  if (fields.size() <= kStart || fields[kState] == "Z" || fields[kState] == "X") return 0;
  return parse_int64(fields[kStart]).value_or(0);
}

WorkerId this_worker() {
  return {.host = host_name(),
          .boot = std::string(trim(system_text("/proc/sys/kernel/random/boot_id"))),
          .process_space = link_target("/proc/self/ns/pid").string(),
          .process = ::getpid(),
          .started = start_of(::getpid()),
          .job = own_job()};
}

bool has_ended(const WorkerId& worker) {
  if (!is_inspectable(worker, this_worker())) return false;
  if (::kill(static_cast<pid_t>(worker.process), 0) != 0 && errno == ESRCH) return true;
  // If the file cannot be read, the process may belong to another user and still work.
  const std::string stat = system_text(fmt::format("/proc/{}/stat", worker.process));
  return !stat.empty() && worker.started != 0 && start_in_stat(stat) != worker.started;
}

bool shares_cpus(const WorkerId& worker) {
  if (!is_inspectable(worker, this_worker())) return false;
  cpu_set_t own, others, both;
  const auto process = static_cast<pid_t>(worker.process);
  if (::sched_getaffinity(0, sizeof own, &own) != 0 || ::sched_getaffinity(process, sizeof others, &others) != 0)
    return false;
  CPU_AND(&both, &own, &others);
  return CPU_COUNT(&both) > 0;
}

std::string describe(const WorkerId& worker) {
  const std::string job = worker.job.empty() ? "" : ", " + worker.job;
  return fmt::format("{}, process {}{}", worker.host, worker.process, job);
}

namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxClaims = 1'000'000;  // on one task

fs::path file_of_claim(const fs::path& folder, const std::string& name, int64_t number) {
  return folder / fmt::format("{}.{}", name, number);
}

// Returns when the file was touched last, in seconds since 1970 by the file system's clock.
double touched(const struct stat& status) {
  return static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
}

// Owns a file that only this process knows until the file is linked to its name. The destructor removes the file, but
// not the link.
class PrivateFile {
 public:
  PrivateFile(const fs::path& folder, const std::string& text)
      : path_(folder / (".claim-" + random_name())), descriptor_(open_for_writing(path_, O_CREAT | O_EXCL)) {
    if (write_some(descriptor_.number(), text) != text.size()) fail("write");
  }
  ~PrivateFile() { ::unlink(path_.c_str()); }
  PrivateFile(const PrivateFile&) = delete;
  PrivateFile& operator=(const PrivateFile&) = delete;

  const fs::path& path() const { return path_; }
  const FileDescriptor& descriptor() const { return descriptor_; }
  FileDescriptor take_descriptor() { return std::move(descriptor_); }

  // Touches the file and returns the file system's present time.
  double touch() const {
    if (::futimens(descriptor_.number(), nullptr) != 0) fail("touch");
    struct stat status {};
    if (::fstat(descriptor_.number(), &status) != 0) fail("read the time of");
    return touched(status);
  }

  // Returns false if the name is taken. If the server made the link but its answer was lost, the number of links shows
  // it.
  bool link_to(const fs::path& name) const {
    if (uninterrupted([&] { return ::link(path_.c_str(), name.c_str()); }) == 0) return true;
    const int error = errno;
    struct stat status {};
    if (::stat(path_.c_str(), &status) == 0 && status.st_nlink == 2) return true;
    if (error == EEXIST) return false;
    if (error == EPERM || error == EOPNOTSUPP || error == ENOSYS)
      throw_error(
          ExitCode::kDevice,
          "{}: this file system does not support hard links, which claims need; move the sweep to a different one",
          name.string());
    throw_system_error(name, "make", error);
  }

 private:
  [[noreturn]] void fail(const char* verb) const {
    const int error = errno;
    ::unlink(path_.c_str());
    throw_system_error(path_, verb, error);
  }

  fs::path path_;
  FileDescriptor descriptor_;
};

struct ExistingClaim {
  ClaimRecord record;
  double touched = 0;
};

// A record that cannot be read, as after a crash of the machine, has no worker; then only the file's time counts.
ClaimRecord record_in(const fs::path& file) {
  try {
    return read_record<ClaimRecord>(file);
  } catch (const UserError&) {
    return {};
  }
}

// Returns nothing if there is no such claim.
std::optional<ExistingClaim> existing_claim(const fs::path& file) {
  // Opening a file makes a network file system read its times from the server.
  const RegularFile opened(file);
  if (!opened.is_open()) return std::nullopt;
  return ExistingClaim{record_in(file), touched(opened.status())};
}

bool is_expired(const ExistingClaim& claim, double now, const ClaimTiming& timing) {
  if (!claim.record.ended.empty() || has_ended(claim.record.worker)) return true;
  return now - claim.touched > std::chrono::duration<double>(timing.expires_after).count();
}

// Touches the claim's file until the destructor runs.
class HeldClaim : public Claim {
 public:
  HeldClaim(fs::path folder, std::string name, int64_t number, FileDescriptor file, ClaimRecord record,
            const ClaimTiming& timing)
      : folder_(std::move(folder)),
        name_(std::move(name)),
        number_(number),
        file_(std::move(file)),
        record_(std::move(record)),
        touch_every_(timing.touch_every) {
    start_thread();
  }

  ~HeldClaim() override {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    wake_.notify_all();
    thread_.join();
    release();
  }

  bool is_lost() const override { return is_lost_; }

 private:
  // The thread blocks all signals, because the main thread handles them.
  void start_thread() {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([this] { touch_until_end(); });
    } catch (...) {
      ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void touch_until_end() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, touch_every_, [this] { return is_ending_; })) {
      // If a touch fails, as on a full disk, the next one may succeed.
      [[maybe_unused]] const int ignored = ::futimens(file_.number(), nullptr);
      if (is_taken_over()) is_lost_ = true;
    }
  }

  bool is_taken_over() const { return existing_claim(file_of_claim(folder_, name_, number_ + 1)).has_value(); }

  void release() {
    if (is_taken_over()) return;
    record_.ended = utc_now();
    try {
      write_record(file_of_claim(folder_, name_, number_), record_);
    } catch (const UserError&) {
      return;  // the claim then ends with the process, or on other machines after the last touch
    }
  }

  const fs::path folder_;
  const std::string name_;
  const int64_t number_;
  const FileDescriptor file_;
  ClaimRecord record_;
  const std::chrono::milliseconds touch_every_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_ending_ = false;
  std::atomic<bool> is_lost_ = false;
  std::thread thread_;
};

// Returns seconds since 1970, by the clock of the file system that holds `folder`, or by this machine's clock if no
// file can be made there.
double file_system_time(const fs::path& folder) {
  try {
    return PrivateFile(folder, "").touch();
  } catch (const UserError&) {
    return static_cast<double>(std::time(nullptr));
  }
}

}  // namespace

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::unique_ptr<Claim> Claim::take(const fs::path& folder, const std::string& name, const ClaimTiming& timing) {
  const ClaimRecord record{.worker = this_worker(), .since = utc_now(), .ended = ""};
  PrivateFile file(folder, json_text(to_json(record)));
  const double now = file.touch();
  for (int64_t number = 1; number <= kMaxClaims; ++number) {
    const fs::path path = file_of_claim(folder, name, number);
    if (file.link_to(path))
      return std::make_unique<HeldClaim>(folder, name, number, file.take_descriptor(), record, timing);
    const auto existing = existing_claim(path);
    if (!existing || !is_expired(*existing, now, timing)) return nullptr;
  }
  throw_error(ExitCode::kDevice, "{}: has {} claims on {}; remove them while no worker runs", folder.string(),
              kMaxClaims, name);
}

std::optional<ClaimRecord> holder_of(const fs::path& folder, const std::string& name, const ClaimTiming& timing) {
  std::optional<ExistingClaim> newest;
  for (int64_t number = 1; number <= kMaxClaims; ++number) {
    const auto claim = existing_claim(file_of_claim(folder, name, number));
    if (!claim) break;
    newest = claim;
  }
  if (!newest || !newest->record.ended.empty() || is_expired(*newest, file_system_time(folder), timing))
    return std::nullopt;
  return newest->record;
}

std::string decide_once(const fs::path& folder, const std::string& name, const std::string& text) {
  static_cast<void>(PrivateFile(folder, text).link_to(folder / name));
  return system_text(folder / name);
}

}  // namespace rnnlab
