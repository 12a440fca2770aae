// Which process is at work: enough to name it to a user, and to see on its own machine that it has ended. Process
// numbers are used again, so the start time belongs to the name. A container has process numbers of its own, so their
// space belongs to it too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rnnlab {

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

}  // namespace rnnlab
