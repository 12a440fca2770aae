// Who works on which task of a plan: claims by hard links, which work on network file systems, and the identity of a
// worker.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "system/file_version.h"

namespace rnnlab {

// Which process is at work: enough to name it to a user, and to see on its own machine that it has ended. Process
// numbers are used again, so the start time belongs to the name. A container has process numbers of its own, so their
// space belongs to it too.

struct WorkerId {
  std::string host;
  std::string boot;           // the kernel draws it at each start of the machine; "" if unknown
  std::string process_space;  // the namespace of process numbers; "" if unknown
  int64_t process = 0;
  int64_t started = 0;  // ticks after the start of the machine; 0 if unknown
  std::string job;      // of a scheduler, "Slurm job 4711_7"; "" without one

  friend bool operator==(const WorkerId&, const WorkerId&) = default;

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("host", self.host);
    field("boot", self.boot);
    field("process_space", self.process_space);
    field("process", self.process);
    field("started", self.started);
    field("job", self.job);
  }
};

WorkerId this_worker();

// Whether the process is known to have ended. False if `worker` is of another machine, another container or another
// start of this machine, because its process cannot be seen from here.
bool has_ended(const WorkerId& worker);

// "node7, process 4711", with ", Slurm job 4711_7" if there is one.
std::string describe(const WorkerId& worker);

// The start time in the text of /proc/<process>/stat; 0 if the text has none, or if the process has ended and only its
// exit code is left.
int64_t start_in_stat(std::string_view stat);

// A claim says that one process works on something, such as a task of a sweep. It holds between machines that share a
// folder, also if the file system has no locks between them: it needs atomic hard links and times of files, which NFS,
// Lustre, GPFS and BeeGFS have.
//
// The claims on "0007" are the files 0007.1, 0007.2 and so on in one folder. Each is made by a hard link, which fails
// if the name is taken, so each has one winner. The newest counts. A file is never removed: its holder replaces it when
// it lets go, and the next claim gets the next number. So a process that was asleep cannot remove another's claim.
//
// A holder touches its file every 30 seconds. A claim is over if its holder let it go, if its process is known to have
// ended (claim.h), or if its file was not touched for 10 minutes. Times are the file system's: a file's own time is
// compared with that of a file touched just now, and clocks of machines do not count.
//
// Left out: a holder that was stopped for longer than that, as with a paused virtual machine, notices at its next touch
// that it has lost its claim, up to 30 seconds after it goes on.

struct ClaimTiming {
  std::chrono::milliseconds touch_every{30'000};
  std::chrono::milliseconds over_after{600'000};
};

// What a claim's file holds.
struct ClaimRecord {
  int64_t schema_version = kFileVersion;
  WorkerId worker;
  std::string since;  // "2026-11-21T02:59:51Z", by the worker's clock
  std::string ended;  // when the worker let go; "" if it did not

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("schema_version", self.schema_version);
    field("worker", self.worker);
    field("since", self.since);
    field("ended", self.ended);
  }
};

class Claim {
 public:
  // Null if another process holds it. UserError kDevice if files cannot be made there, or the file system has no hard
  // links. `folder` must be there; `name` has no '/'.
  static std::unique_ptr<Claim> take(const std::filesystem::path& folder, const std::string& name,
                                     const ClaimTiming& timing = {});

  // Lets go, unless another process has taken it over.
  virtual ~Claim() = default;

  // Another process has taken it over, because this one gave no sign for too long.
  virtual bool is_lost() const = 0;
};

// Who holds it now. Nothing if nobody does. Does not need the right to write into the folder; without it the times of
// files are compared with this machine's clock.
std::optional<ClaimRecord> holder_of(const std::filesystem::path& folder, const std::string& name,
                                     const ClaimTiming& timing = {});

// The time now as "2026-11-21T02:59:51Z".
std::string utc_now();

}  // namespace rnnlab
