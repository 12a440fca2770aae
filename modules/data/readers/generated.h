// SPDX-License-Identifier: Apache-2.0
// Generated data: random sequences and drawn digits, equal on every machine and for every number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "data/readers/array.h"

namespace rnnlab {

// Counter-based random numbers: number i of a stream is a pure function of the stream's key and i, so threads need no
// common order. Only IEEE arithmetic is used, without functions of the C library, so the bits are equal on every
// machine. Do not use it for secrets. Source: base/random.h; Box and Muller, 1958.
class RandomStream {
 public:
  // Streams with different keys are independent. A key is, for example, {purpose, seed, sample}.
  explicit RandomStream(std::initializer_list<uint64_t> key);

  uint64_t bits(uint64_t index) const;

  // Returns the normal numbers 2 * pair and 2 * pair + 1 of the stream, from N(0, 1).
  std::pair<double, double> normal_pair(uint64_t pair) const;

  // Returns the next number in [low, high), from a counter that starts at 0.
  double next_uniform(double low, double high);

  // Returns the next number in [0, bound), bound > 0; uniform except for a bias of bound / 2^64.
  int64_t next_below(int64_t bound);

 private:
  uint64_t key_ = 0;
  uint64_t counter_ = 0;
};

struct CosSin {
  double cos;
  double sin;
};

// Returns cosine and sine of an angle in turns (1 is 360 degrees), with an error below 1e-10.
CosSin cos_sin(double turns);

// Divides a range of independent items among the threads of the processor: calls body(begin, end) for consecutive parts
// of [0, count), each on its own thread, and waits for all. The body must not throw.
void parallel_for(int64_t count, const std::function<void(int64_t begin, int64_t end)>& body);

// The functions below generate sequences and labels: every value is a pure function of (seed, index), for any number of
// threads. They fill memory of the caller, so that a large set is never held twice. Some labels are noise, for timing;
// labels that are functions of the inputs show whether training learns.

// Fills `values` with the first N(0, 1) numbers of `seed`.
void fill_normal(std::span<float> values, uint64_t seed);

// Returns N(0, 1) targets that are independent of the inputs of the same seed.
std::vector<float> random_targets(int64_t count, uint64_t seed);

// Returns a score for each sequence of N(0, 1) inputs (count, num_steps, num_features). The scores are N(0, 1) too: the
// sum over all steps along one direction, which `seed` chooses. Training and validation must use the same seed. A
// network has to learn the direction and the sum.
std::vector<float> learnable_scores(std::span<const float> inputs, int64_t num_steps, int64_t num_features,
                                    uint64_t seed);

// Returns equally likely classes of N(0, 1) scores, cut at their quantiles: class 0 holds the lowest.
std::vector<int64_t> classes_of_scores(std::span<const float> scores, int64_t num_classes);

// The shapes of the ten digits: strokes of a pen in a box of height 1 and about width 1, with x to the right and y
// down. Several digits have more than one form, as in handwriting (an open or closed 4, a 7 with or without a bar).

struct Point {
  double x = 0;
  double y = 0;
};

using Stroke = std::vector<Point>;  // joined by straight lines, which are short enough for curves

int64_t num_digit_forms(int64_t digit);

// `digit` is in [0, 10) and `form` in [0, num_digit_forms(digit)).
const std::vector<Stroke>& digit_strokes(int64_t digit, int64_t form);

// Generated 28 x 28 images of drawn digits, for a machine without data or network. Form, size, position, slant,
// rotation, width of the pen, wobble, ink and noise vary. Image i is a pure function of (seed, split, i), with equal
// bits on every machine. A linear model stays under 95 %, because the position of the digits varies.

constexpr int64_t kDigitSize = 28;  // rows and columns

enum class DigitSplit : uint64_t { kTrain, kValid };

struct LabelledImages {
  Array images;  // (count, 28, 28) u8, 0 is background
  Array labels;  // (count) u8, 0 to 9
};

// Every ten consecutive images hold each digit once, in random order. `count` is at least 1.
LabelledImages generate_digits(int64_t count, uint64_t seed, DigitSplit split);

}  // namespace rnnlab
