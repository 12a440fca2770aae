// Generated 28 x 28 images of drawn digits, for a machine without data or network. Form, size, place, slant, rotation,
// width of the pen, wobble, ink and noise vary. Image i is a pure function of (seed, split, i), the same bits on every
// machine. Harder than it looks: a linear model stays under 95 %, for digits are never in the same place.
#pragma once

#include <cstdint>
#include <span>

#include "data/readers/array.h"

namespace rnnlab {

constexpr int64_t kDigitSize = 28;  // rows and columns

enum class DigitSplit : uint64_t { kTrain, kValid };

struct LabelledImages {
  Array images;  // (count, 28, 28) u8, 0 is background
  Array labels;  // (count) u8, 0 to 9
};

// Every ten consecutive images hold each digit once, in random order. count >= 1.
LabelledImages generate_digits(int64_t count, uint64_t seed, DigitSplit split);

}  // namespace rnnlab
