// The sample that a comparison of times is made of: one number a process. Epochs of one process share what is its own,
// such as where its memory lies, so they tell little of what another process would take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/run_record.h"

namespace rnnlab {

struct ProcessTime {
  std::string measurement;     // "" where the process was started for itself
  int64_t round = 0;           // of the measurement
  std::vector<int64_t> seeds;  // of its runs of the group
  double seconds = 0;          // the median of their epochs after warm-up
};

// In the order of their first runs; without processes that have no epoch after warm-up. Runs of before version 3, which
// did not record the process, count as one: nothing shows that they were several.
std::vector<ProcessTime> process_times(const RunGroup& group);

std::vector<double> seconds_of(const std::vector<ProcessTime>& processes);

// The i-th of both were measured in one round, with the same seeds.
struct PairedSeconds {
  std::vector<double> first, second;
};

// Nothing unless every process of both sides has a partner.
std::optional<PairedSeconds> paired_by_round(const std::vector<ProcessTime>& first,
                                             const std::vector<ProcessTime>& second);

}  // namespace rnnlab
