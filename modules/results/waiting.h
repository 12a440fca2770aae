// SPDX-License-Identifier: Apache-2.0
// Detects runs and processes that waited: for a CPU, for data, for a quota, or for the slowest process of a run. The
// counters that the system recorded with the epoch times (base/system/counters.h) show whether a run had the CPUs that
// it needed. A run that was stopped, held by a quota or kept waiting by other processes is slow for external reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/warning.h"
#include "results/epoch_row.h"
#include "results/run_record.h"

namespace rnnlab {

// Checks the epochs that count. Warns if the kernel's clock disagrees, if a quota or a hypervisor held the CPUs for a
// twentieth of the time that they were needed, or if the process computed less than expected. On a CPU some thread
// always computes; the host of a GPU may wait, but equally in all epochs. Returns nothing for epochs without these
// counters. Messages call the rows `spans`.
std::vector<Warning> waiting_warnings(std::span<const EpochRow> rows, const std::string& device, int64_t num_threads,
                                      std::string_view spans = "epochs");

// Returns findings on runs that computed clearly less for each second of their epochs than the other runs of the group:
// such runs were stopped or kept waiting throughout. At least three runs are needed to identify the exception.
std::vector<GroupFinding> waiting_within(const RunGroup& group);

// Returns a finding on a side whose process got clearly less CPU time for its wall time than the other side's process,
// if both sides are runs of rnnlab on a GPU.
std::vector<GroupFinding> waiting_between(const RunGroup& baseline, const RunGroup& group);

// The processes of a run make each update together, so all of them wait for the slowest process.

// Returns the median, over the epochs that count, of the slowest process's seconds over the fastest's, without the
// exchange. Returns nothing for a run of one process.
std::optional<double> slowest_over_fastest(std::span<const EpochRow> rows);

// Returns the median, over the epochs that count, of the part of train_seconds that the slowest process spent in the
// exchange without overlap. Returns nothing if the exchange was not measured.
std::optional<double> exchange_share(std::span<const EpochRow> rows);

// Warns if the slowest process is more than 5 % slower than the fastest process.
std::vector<Warning> straggler_warnings(std::span<const EpochRow> rows);

}  // namespace rnnlab
