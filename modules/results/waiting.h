// Sides that waited: for a CPU, for data, for a quota, or for the slowest of their processes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/epoch_row.h"
#include "results/run_record.h"
#include "system/warning.h"

namespace rnnlab {

// Whether the epochs of a run had the CPUs that they wanted, by what the system counted beside their times
// (system/epoch_witness.h): a run that was stopped, held by a quota or kept waiting by others is slow for no reason of
// its own.

// Over the epochs that count: the kernel's clock says otherwise, a quota or a hypervisor held the CPUs for a twentieth
// of the time that they were needed, or the process computed less than it should. On a CPU somebody always computes;
// the host of a GPU may wait, but alike in all epochs. Nothing for epochs that were not witnessed. Messages call the
// rows `spans`.
std::vector<Warning> waiting_warnings(std::span<const EpochRow> rows, const std::string& device, int64_t num_threads,
                                      std::string_view spans = "epochs");

// Runs that computed clearly less for each second of their epochs than the other runs of the group did: they were
// stopped or kept waiting throughout. Three runs at least are needed to tell which is the exception.
std::vector<Remark> waiting_within(const RunGroup& group);

// A side whose process got clearly less CPU time for its wall time than the other's, both on a GPU and of rnnlab.
std::vector<Remark> waiting_between(const RunGroup& baseline, const RunGroup& group);

// Whether the processes of a run waited for one of them: they make each update together, so the slowest sets the pace.

// The median over the epochs that count of the slowest process's seconds over the fastest's, outside of the exchange.
// Nothing of a run of one process.
std::optional<double> slowest_over_fastest(std::span<const EpochRow> rows);

// The median over the epochs that count of the part of train_seconds that the slowest process spent in the exchange,
// and nothing hid. Nothing where it was not measured.
std::optional<double> exchange_share(std::span<const EpochRow> rows);

// That the slowest is more than 5 % slower than the fastest.
std::vector<Warning> straggler_warnings(std::span<const EpochRow> rows);

}  // namespace rnnlab
