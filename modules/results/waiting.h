// Whether the epochs of a run had the CPUs that they wanted, by what the system counted beside their times
// (epoch_witness.h): a run that was stopped, held by a quota or kept waiting by others is slow for no reason of its
// own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/epoch_row.h"
#include "results/remark.h"
#include "results/run_record.h"
#include "results/warning.h"

namespace rnnlab {

// Over the epochs that count: the kernel's clock says otherwise, a quota or a hypervisor held the CPUs for a twentieth
// of the time that they were needed, or the process computed less than it should. On a CPU somebody always computes;
// the host of a GPU may wait, but alike in all epochs. Nothing for epochs that were not witnessed. Messages call the
// rows `spans`.
std::vector<Warning> waiting_warnings(std::span<const EpochRow> rows, const std::string& device, int64_t num_threads,
                                      std::string_view spans = "epochs");

// A side whose process got clearly less CPU time for its wall time than the other's, both on a GPU and of rnnlab.
std::vector<Remark> waiting_between(const RunGroup& baseline, const RunGroup& group);

}  // namespace rnnlab
