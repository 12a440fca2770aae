// The npy format, version 1.0, as far as a table of float32 needs it. Source: numpy.lib.format, "NPY format".
#pragma once

#include <cstdint>
#include <string>

namespace rnnlab {

// What stands before the numbers of a (rows, columns) array of little-endian float32, the last dimension fastest.
std::string npy_header(int64_t num_rows, int64_t num_columns);

}  // namespace rnnlab
