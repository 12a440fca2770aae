// SPDX-License-Identifier: Apache-2.0
// Keeps, in the store of a run of several processes, the reason why the run ends: the first failure, and which process
// reports it to the user. A process that was started for the run but cannot join the others uses the same keys.
//
// Without Launch::secret everybody who can connect to the store can write into it. So what these functions read is what
// a rank may say: a rank below `size`, an exit code of a failure, and texts of limited length without control
// characters. Anything else counts as not written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"

namespace c10d {
class Store;
}

namespace rnnlab {

struct RankFailure {
  int64_t rank = 0;
  ExitCode exit_code = ExitCode::kInternal;
  std::string message;
  std::string process;  // see this_process(); "" if another process stores the failure
};

// Returns for example "process 4711 of node7".
std::string this_process();

// Returns `text` as the name of a process that a message can show: one line of limited length, without '|', which ends
// a field of a heartbeat.
std::string process_name(const std::string& text);

// Stores a failure; a second failure does not replace the first. This function and those below throw if the store
// cannot be reached.
void put_failure(c10d::Store& store, const RankFailure& failure, int64_t size);
std::optional<RankFailure> failure_in(c10d::Store& store, int64_t size);

// Returns true for the one process that reports to the user why the run ended: rank 0, or, if rank 0 does not claim the
// report within three seconds, the first other rank that does. All others get false, also rank 0 if it comes later.
bool claim_report(c10d::Store& store, int64_t rank, int64_t size, const std::string& message);

// Returns whether a process has claimed the report.
bool is_report_claimed(c10d::Store& store, int64_t size);

}  // namespace rnnlab
