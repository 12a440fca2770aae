// How the ten digits are written: strokes of a pen in a box one high and about as wide, x to the right, y down.
// Several digits have more than one form, as in handwriting (an open or closed 4, a 7 with or without a bar).
#pragma once

#include <cstdint>
#include <vector>

namespace rnnlab {

struct Point {
  double x = 0;
  double y = 0;
};

using Stroke = std::vector<Point>;  // joined by straight lines, short enough for curves

int64_t num_digit_forms(int64_t digit);

// digit in [0, 10), form in [0, num_digit_forms(digit)).
const std::vector<Stroke>& digit_strokes(int64_t digit, int64_t form);

}  // namespace rnnlab
