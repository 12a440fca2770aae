// The timing protocol for several programs that are to be compared: each is repeated until one sample is long enough
// for the clock, and then they take turns, in a new random order every round, so that a machine that gets slower or
// faster does so for all of them.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace rnnlab {

struct SamplingPlan {
  int64_t repeats = 15;           // rounds that count, at least
  double min_seconds = 0;         // goes on until the samples took so long in sum
  double sample_seconds = 0.002;  // that a sample takes at least
  int64_t warmup = 2;             // rounds before those that count
  uint64_t seed = 1;              // of the order
};

// Programs that live and die together: when one throws, its group is out, with the others' samples as they are.
struct SampledGroup {
  std::vector<std::function<double(int64_t iterations)>> programs;  // seconds of so many iterations

  // What came of it.
  std::vector<int64_t> iterations;           // of a sample, by program
  std::vector<std::vector<double>> samples;  // seconds of one iteration, by program; equally many, round by round
  std::exception_ptr failure;                // then there are no samples
};

// Fills the groups. Ends early, with the rounds that are whole, when `should_stop` says so.
void sample_interleaved(std::vector<SampledGroup>& groups, const SamplingPlan& plan,
                        const std::function<bool()>& should_stop);

// How often `program` must run for one sample. Runs it at least twice: the first run, which may be slow for reasons of
// its own, is not relied on.
int64_t iterations_for(const std::function<double(int64_t)>& program, double sample_seconds);

}  // namespace rnnlab
