// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/sampling.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace rnnlab {
namespace {

struct SamplingSlot {
  size_t group;
  size_t program;
};

// The method is by Fisher and Yates. The bias of the remainder is below 2^-50 for the small number of turns.
void shuffle(std::vector<SamplingSlot>& turns, SplitMix64& random) {
  for (size_t i = turns.size(); i > 1; --i) std::swap(turns[i - 1], turns[random.next() % i]);
}

std::vector<SamplingSlot> all_slots(const std::vector<SampledGroup>& groups) {
  std::vector<SamplingSlot> turns;
  for (size_t group = 0; group < groups.size(); ++group)
    for (size_t program = 0; program < groups[group].programs.size(); ++program) turns.push_back({group, program});
  return turns;
}

void fail(SampledGroup& group) {
  group.failure = std::current_exception();
  group.samples.assign(group.programs.size(), {});
}

void choose_iterations(SampledGroup& group, double sample_seconds) {
  if (group.failure) return;
  try {
    for (size_t i = 0; i < group.programs.size(); ++i)
      group.iterations[i] = iterations_for(group.programs[i], sample_seconds);
  } catch (...) {
    fail(group);
  }
}

// Returns the seconds of the turn.
double take_sample(SampledGroup& group, size_t program) {
  if (group.failure) return 0;
  try {
    const double seconds = group.programs[program](group.iterations[program]);
    group.samples[program].push_back(seconds / static_cast<double>(group.iterations[program]));
    return seconds;
  } catch (...) {
    fail(group);
    return 0;
  }
}

void drop_samples(std::vector<SampledGroup>& groups) {
  for (SampledGroup& group : groups)
    for (auto& samples : group.samples) samples.clear();
}

void drop_unfinished_round(std::vector<SampledGroup>& groups) {
  size_t whole = SIZE_MAX;
  for (const SampledGroup& group : groups)
    for (const auto& samples : group.samples)
      if (!group.failure) whole = std::min(whole, samples.size());
  for (SampledGroup& group : groups)
    for (auto& samples : group.samples)
      if (samples.size() > whole) samples.resize(whole);
}

bool all_failed(const std::vector<SampledGroup>& groups) {
  return std::ranges::all_of(groups, [](const SampledGroup& group) { return group.failure != nullptr; });
}

}  // namespace

int64_t iterations_for(const std::function<double(int64_t)>& program, double sample_seconds) {
  constexpr int64_t kMost = 1'000'000;
  constexpr double kMargin = 1.1;
  constexpr double kFastestGrowth = 100;  // a first estimate from a very short run may be far too small
  program(1);
  int64_t iterations = 1;
  for (double seconds = program(1); seconds < sample_seconds && iterations < kMost; seconds = program(iterations)) {
    const double growth = seconds > 0 ? kMargin * sample_seconds / seconds : kFastestGrowth;
    const double wanted = static_cast<double>(iterations) * std::min(growth, kFastestGrowth);
    iterations = std::min(kMost, std::max(iterations + 1, static_cast<int64_t>(std::ceil(wanted))));
  }
  return iterations;
}

void sample_interleaved(std::vector<SampledGroup>& groups, const SamplingPlan& plan,
                        const std::function<bool()>& should_stop) {
  for (SampledGroup& group : groups) {
    group.iterations.assign(group.programs.size(), 1);
    group.samples.assign(group.programs.size(), {});
  }
  for (SampledGroup& group : groups) {
    choose_iterations(group, plan.sample_seconds);
    if (should_stop()) return;
  }
  SplitMix64 random(plan.seed);
  std::vector<SamplingSlot> turns = all_slots(groups);
  double seconds = 0;
  for (int64_t round = -plan.warmup; round < plan.repeats || seconds < plan.min_seconds; ++round) {
    if (all_failed(groups)) return;
    if (round == 0) {
      drop_samples(groups);
      seconds = 0;
    }
    shuffle(turns, random);
    for (const SamplingSlot& turn : turns) {
      if (should_stop()) return round < 0 ? drop_samples(groups) : drop_unfinished_round(groups);
      seconds += take_sample(groups[turn.group], turn.program);
    }
  }
}

}  // namespace rnnlab
