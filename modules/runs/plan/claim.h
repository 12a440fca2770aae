// SPDX-License-Identifier: Apache-2.0
// Implements claims, with which one process at a time works on a task of a plan. Claims are hard links, which work on
// network file systems; a claim has the identity of its worker.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/system/files.h"

namespace rnnlab {

// Identifies a process that works on a task: well enough to name the process to a user, and to detect on its own
// machine that it has ended. Process numbers are reused, so the start time is included. A container has its own process
// numbers, so their namespace is included too.
struct WorkerId {
  std::string host;
  std::string boot;           // drawn by the kernel at each start of the machine; "" if unknown
  std::string process_space;  // the namespace of process numbers; "" if unknown
  int64_t process = 0;
  int64_t started = 0;  // ticks after the start of the machine; 0 if unknown
  std::string job;      // of a scheduler, "Slurm job 4711_7"; "" without one

  friend bool operator==(const WorkerId&, const WorkerId&) = default;

  RNNLAB_FIELDS(host, boot, process_space, process, started, job)
};

WorkerId this_worker();

// Returns whether the process is known to have ended. Returns false if `worker` is from another machine, another
// container or an earlier start of this machine, because its process cannot be inspected from here.
bool has_ended(const WorkerId& worker);

// Writes a short text to a new file in `folder`, unless the file exists; returns the text of the file. So all processes
// that call this function with the same name get the same text, also on machines that share the folder. Throws the
// UserErrors of Claim::take.
std::string decide_once(const std::filesystem::path& folder, const std::string& name, const std::string& text);

// Returns whether a process that can be inspected from here may use some of the CPUs that this process may use.
bool shares_cpus(const WorkerId& worker);

// Returns "node7, process 4711", with ", Slurm job 4711_7" if there is a job.
std::string describe(const WorkerId& worker);

// Returns the start time in the text of /proc/<process>/stat; 0 if the text has none, or if the process has ended and
// only its exit code is left.
int64_t start_in_stat(std::string_view stat);

// A claim means that one process works on something, such as a task of a sweep. A claim is valid between machines that
// share a folder, even if the file system has no locks between them: it needs atomic hard links and file times, which
// NFS, Lustre, GPFS and BeeGFS have.
//
// The claims on "0007" are the files 0007.1, 0007.2 and so on in one folder. Each is made by a hard link, which fails
// if the name is taken, so exactly one process makes it. The newest claim counts. A file is never removed: its holder
// replaces it when it releases the claim, and the next claim gets the next number. So a process that was suspended
// cannot remove the claim of another process.
//
// A holder touches its file every 30 seconds. A claim is over if its holder released it, if its process is known to
// have ended, or if its file was not touched for 10 minutes. Times are those of the file system: a file's time is
// compared with the time of a file touched just now, so the clocks of machines do not matter.
//
// Left out: a holder that was suspended for longer than 10 minutes, such as a paused virtual machine, works without a
// claim until its next touch, up to 30 seconds after it resumes.
struct ClaimTiming {
  std::chrono::milliseconds touch_every{30'000};
  std::chrono::milliseconds expires_after{600'000};
};

// Holds the content of a claim's file.
struct ClaimRecord {
  int64_t schema_version = kFileVersion;
  WorkerId worker;
  std::string since;  // "2026-11-21T02:59:51Z", by the worker's clock
  std::string ended;  // when the worker released it; "" if it did not

  RNNLAB_FIELDS(schema_version, worker, since, ended)
};

class Claim {
 public:
  // Returns null if another process holds the claim. Throws UserError kDevice if files cannot be made in `folder`, or
  // if the file system has no hard links. `folder` must exist; `name` has no '/'.
  static std::unique_ptr<Claim> take(const std::filesystem::path& folder, const std::string& name,
                                     const ClaimTiming& timing = {});

  // Releases the claim, unless another process has taken it over.
  virtual ~Claim() = default;

  // Returns whether another process has taken over the claim, because this process did not touch its file for too long.
  virtual bool is_lost() const = 0;
};

// Returns the record of the present holder, or nothing. The function needs no right to write into the folder; without
// this right the times of files are compared with this machine's clock.
std::optional<ClaimRecord> holder_of(const std::filesystem::path& folder, const std::string& name,
                                     const ClaimTiming& timing = {});

// Returns the present time as "2026-11-21T02:59:51Z".
std::string utc_now();

}  // namespace rnnlab
