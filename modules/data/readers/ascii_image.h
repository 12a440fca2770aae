// Draws one image in characters, for `data inspect`. The smallest value is a space and the largest value is '@'.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/readers/array.h"

namespace rnnlab {

// `pixels` holds num_rows x num_columns values. The picture is at most 80 characters wide. A pixel takes two characters
// if they fit, because characters are about twice as high as wide; wider images are averaged down. Every line ends with
// a line feed. NaN is '?'.
std::string ascii_image(std::span<const float> pixels, int64_t num_rows, int64_t num_columns);

// Draws image `index` of an array (N, rows, columns), or the whole array (rows, columns) with index 0.
std::string ascii_image(const Array& images, int64_t index);

}  // namespace rnnlab
