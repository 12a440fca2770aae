// Data that the program makes itself: random sequences and drawn digits, the same on every machine and for any number
// of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "data/readers/array.h"

namespace rnnlab {

// Random numbers by counting: number i of a stream is a pure function of the stream's key and i, so threads need not
// agree on an order. Plain IEEE arithmetic without the C library's functions: the same bits on every machine. Not for
// secrets. Source: base/split_mix64.h; Box and Muller, 1958.

class RandomStream {
 public:
  // Streams of different keys are independent. A key is, say, {purpose, seed, sample}.
  explicit RandomStream(std::initializer_list<uint64_t> key);

  uint64_t bits(uint64_t index) const;

  // The normal numbers 2 * pair and 2 * pair + 1 of the stream, from N(0, 1).
  std::pair<double, double> normal_pair(uint64_t pair) const;

  // The next in [low, high), from a counter that starts at 0.
  double next_uniform(double low, double high);

  // The next in [0, bound), bound > 0; even but for bound / 2^64.
  int64_t next_below(int64_t bound);

 private:
  uint64_t key_ = 0;
  uint64_t counter_ = 0;
};

struct CosSin {
  double cos;
  double sin;
};

// Of an angle in turns (1 is 360 degrees), with an error below 1e-10.
CosSin cos_sin(double turns);

// Work on a range of numbers shared out over the processor's threads. For generators, whose every item stands alone.

// Calls body(begin, end) for consecutive parts of [0, count), each on a thread of its own, and waits for all.
// The body must not throw.
void parallel_for(int64_t count, const std::function<void(int64_t begin, int64_t end)>& body);

// Generated sequences and labels: every value a pure function of (seed, index), whatever the number of threads. Fills
// memory that the caller owns, so that a large set is never held twice. Some labels are noise, to time training; others
// follow from the inputs, so that training can be seen to learn.

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

// How the ten digits are written: strokes of a pen in a box one high and about as wide, x to the right, y down.
// Several digits have more than one form, as in handwriting (an open or closed 4, a 7 with or without a bar).

struct Point {
  double x = 0;
  double y = 0;
};

using Stroke = std::vector<Point>;  // joined by straight lines, short enough for curves

int64_t num_digit_forms(int64_t digit);

// digit in [0, 10), form in [0, num_digit_forms(digit)).
const std::vector<Stroke>& digit_strokes(int64_t digit, int64_t form);

// Generated 28 x 28 images of drawn digits, for a machine without data or network. Form, size, place, slant, rotation,
// width of the pen, wobble, ink and noise vary. Image i is a pure function of (seed, split, i), the same bits on every
// machine. Harder than it looks: a linear model stays under 95 %, for digits are never in the same place.

constexpr int64_t kDigitSize = 28;  // rows and columns

enum class DigitSplit : uint64_t { kTrain, kValid };

struct LabelledImages {
  Array images;  // (count, 28, 28) u8, 0 is background
  Array labels;  // (count) u8, 0 to 9
};

// Every ten consecutive images hold each digit once, in random order. count >= 1.
LabelledImages generate_digits(int64_t count, uint64_t seed, DigitSplit split);

}  // namespace rnnlab
