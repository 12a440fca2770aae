// SPDX-License-Identifier: Apache-2.0
// The timing protocol for programs that are compared. Each program is repeated until a sample is long enough for the
// clock. Then the programs are sampled in turn, in a new random order in each round, so that a machine that becomes
// slower or faster affects all programs.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

namespace rnnlab {

struct SamplingPlan {
  int64_t repeats = 15;           // minimum number of counted rounds
  double min_seconds = 0;         // minimum sum of the samples; rounds are added until it is reached
  double sample_seconds = 0.002;  // minimum duration of a sample
  int64_t warmup = 2;             // rounds before the counted rounds
  uint64_t seed = 1;              // of the random order
};

// A group of programs that fail together: if one throws, the group is dropped; samples of different groups are kept.
struct SampledGroup {
  std::vector<std::function<double(int64_t iterations)>> programs;  // returns the seconds of `iterations` runs

  // The results.
  std::vector<int64_t> iterations;           // of a sample, by program
  std::vector<std::vector<double>> samples;  // seconds of one iteration, by program; equal numbers, round by round
  std::exception_ptr failure;                // if set, there are no samples
};

// Fills the groups. Returns early, with the complete rounds, if `should_stop` returns true.
void sample_interleaved(std::vector<SampledGroup>& groups, const SamplingPlan& plan,
                        const std::function<bool()>& should_stop);

// Returns how many times `program` must run for one sample. Runs it at least twice, because the first run may be slow
// and is ignored.
int64_t iterations_for(const std::function<double(int64_t)>& program, double sample_seconds);

}  // namespace rnnlab
