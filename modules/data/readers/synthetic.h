// Generated sequences and labels: every value a pure function of (seed, index), whatever the number of threads. Fills
// memory that the caller owns, so that a large set is never held twice. Some labels are noise, to time training; others
// follow from the inputs, so that training can be seen to learn.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rnnlab {

// The first of the N(0, 1) numbers that belong to `seed`.
void fill_normal(std::span<float> values, uint64_t seed);

// Noise: N(0, 1) targets, independent of the inputs of the same seed.
std::vector<float> random_targets(int64_t count, uint64_t seed);

// A score a sequence of N(0, 1) inputs (count, num_steps, num_features), itself N(0, 1): the sum over all steps along
// one direction, which `seed` chooses. The same seed must serve training and validation. What a network has to learn is
// the direction, and to add up.
std::vector<float> learnable_scores(std::span<const float> inputs, int64_t num_steps, int64_t num_features,
                                    uint64_t seed);

// Equally likely classes of N(0, 1) scores, cut at their quantiles: class 0 holds the lowest.
std::vector<int64_t> classes_of_scores(std::span<const float> scores, int64_t num_classes);

}  // namespace rnnlab
