// Defines the sample for a comparison of times: one number for each process. Epochs of one process share properties of
// the process, such as the location of its memory, so they do not show how times vary between processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/run_record.h"

namespace rnnlab {

struct ProcessTime {
  std::string measurement;     // "" if the process does not belong to a measurement
  int64_t round = 0;           // of the measurement
  std::vector<int64_t> seeds;  // seeds of the process's runs in the group
  double seconds = 0;          // the median of these runs' epochs after warm-up
};

// Returns the processes in the order of their first runs, without processes that have no epoch after warm-up. Runs
// before version 3, which did not record the process, count as one process, because nothing shows that there were
// several.
std::vector<ProcessTime> process_times(const RunGroup& group);

std::vector<double> seconds_of(const std::vector<ProcessTime>& processes);

// The i-th values of both sides were measured in one round, with the same seeds.
struct PairedSeconds {
  std::vector<double> first, second;
};

// Returns nothing unless every process of both sides has a partner.
std::optional<PairedSeconds> paired_by_round(const std::vector<ProcessTime>& first,
                                             const std::vector<ProcessTime>& second);

}  // namespace rnnlab
