#include "data/readers/synthetic.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "data/readers/parallel.h"
#include "data/readers/random_stream.h"

namespace rnnlab {
namespace {

// The first part of a stream's key: what its numbers are for.
enum Purpose : uint64_t { kInputs = 1, kDirection = 3, kTargets = 4 };

void fill_part(std::span<float> values, const RandomStream& stream, int64_t first_index) {
  size_t at = 0;
  while (at < values.size()) {
    const uint64_t index = static_cast<uint64_t>(first_index) + at;
    const auto [even, odd] = stream.normal_pair(index / 2);
    if (index % 2 == 0) values[at++] = static_cast<float>(even);
    if (at < values.size()) values[at++] = static_cast<float>(odd);
  }
}

void fill_from(const RandomStream& stream, std::span<float> values) {
  parallel_for(static_cast<int64_t>(values.size()), [&](int64_t begin, int64_t end) {
    const auto part = values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    fill_part(part, stream, begin);
  });
}

// A direction of length 1 / sqrt(num_steps), so that the score's variance is 1.
std::vector<double> direction_of(int64_t num_steps, int64_t num_features, uint64_t seed) {
  const RandomStream stream{kDirection, seed};
  std::vector<double> direction;
  double squares = 0;
  for (int64_t i = 0; i < num_features; ++i) {
    direction.push_back(stream.normal_pair(static_cast<uint64_t>(i)).first);
    squares += direction.back() * direction.back();
  }
  for (double& weight : direction) weight /= std::sqrt(squares * static_cast<double>(num_steps));
  return direction;
}

double score_of(std::span<const float> sequence, const std::vector<double>& direction) {
  double score = 0;
  for (size_t at = 0; at < sequence.size(); at += direction.size())
    for (size_t i = 0; i < direction.size(); ++i) score += direction[i] * static_cast<double>(sequence[at + i]);
  return score;
}

}  // namespace

void fill_normal(std::span<float> values, uint64_t seed) { fill_from(RandomStream{kInputs, seed}, values); }

std::vector<float> random_targets(int64_t count, uint64_t seed) {
  std::vector<float> targets(static_cast<size_t>(count));
  fill_from(RandomStream{kTargets, seed}, targets);
  return targets;
}

std::vector<float> learnable_scores(std::span<const float> inputs, int64_t num_steps, int64_t num_features,
                                    uint64_t seed) {
  const auto length = static_cast<size_t>(num_steps * num_features);
  RNNLAB_INVARIANT(length > 0 && inputs.size() % length == 0, "inputs that are no whole sequences");
  const std::vector<double> direction = direction_of(num_steps, num_features, seed);
  std::vector<float> scores(inputs.size() / length);
  parallel_for(static_cast<int64_t>(scores.size()), [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      scores[i] = static_cast<float>(score_of(inputs.subspan(i * length, length), direction));
  });
  return scores;
}

std::vector<int64_t> classes_of_scores(std::span<const float> scores, int64_t num_classes) {
  std::vector<int64_t> classes;
  for (const float score : scores) {
    const double below = 0.5 * std::erfc(-static_cast<double>(score) / std::numbers::sqrt2);
    classes.push_back(std::min(static_cast<int64_t>(below * static_cast<double>(num_classes)), num_classes - 1));
  }
  return classes;
}

}  // namespace rnnlab
