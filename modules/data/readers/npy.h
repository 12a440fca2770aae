// npy, the file of one NumPy array: versions 1.0 to 3.0; bool, integers and floats in either byte order; C or Fortran
// order; plain or gzip. Objects, structures, text, dates and complex numbers are refused with a specific message.
// Source: numpy.lib.format, "NPY format".
#pragma once

#include <filesystem>

#include "data/readers/array.h"

namespace rnnlab {

// Returns the array in row-major order; 16-bit floats become f32, which represents them exactly. An empty array and a
// single number without dimensions are errors. Throws UserError kData with the byte at which the file is invalid.
Array read_npy(const std::filesystem::path& path);

}  // namespace rnnlab
