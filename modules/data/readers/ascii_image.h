// A picture of one image in characters, for `data inspect`. Scaled so that its darkest value is a space and its
// brightest '@'.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/readers/array.h"

namespace rnnlab {

// `pixels` holds num_rows x num_columns values. At most 80 characters wide: two a pixel where they fit, since
// characters are about twice as high as wide; wider images are averaged down. Every line ends with a line feed. NaN
// shows as '?'.
std::string ascii_image(std::span<const float> pixels, int64_t num_rows, int64_t num_columns);

// Image `index` of an array (N, rows, columns), or the whole of an array (rows, columns) with index 0.
std::string ascii_image(const Array& images, int64_t index);

}  // namespace rnnlab
