// Runs in memory, with only the values that a comparison of times reads.
#pragma once

#include <string>
#include <vector>

#include "results/run_record.h"

namespace rnnlab::testing {

inline RunRecord sample_record(const Turn& turn, const std::vector<double>& timed_seconds) {
  RunRecord run;
  run.summary.turn = turn;
  for (const double seconds : timed_seconds) {
    EpochRow& row = run.rows.emplace_back();
    row.epoch = static_cast<int64_t>(run.rows.size());
    row.train_seconds = seconds;
  }
  return run;
}

// Returns a run of a process outside of a measurement.
inline RunRecord process_record(const std::string& process, const std::vector<double>& timed_seconds) {
  Turn turn;
  turn.process = process;
  return sample_record(turn, timed_seconds);
}

// Returns a run of the process of round `round` of a measurement, on the side `side`.
inline RunRecord sample_record(const std::string& side, int64_t round, const std::vector<double>& timed_seconds) {
  return sample_record({.process = side + std::to_string(round), .measurement = "m", .round = round}, timed_seconds);
}

inline RunGroup group_of(const std::vector<RunRecord>& runs) {
  RunGroup group;
  for (const RunRecord& run : runs) group.runs.push_back(&run);
  return group;
}

}  // namespace rnnlab::testing
