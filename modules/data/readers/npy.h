// npy, the file of one NumPy array: versions 1.0 to 3.0, bool, integers and floats in either byte order, C or Fortran
// order. Objects, structures, text, dates and complex numbers are refused by name. Plain or gzip. Source:
// numpy.lib.format, "NPY format".
#pragma once

#include <filesystem>

#include "data/readers/array.h"

namespace rnnlab {

// The array in row-major order; 16-bit floats come as f32, which holds them exactly. An empty array and a single number
// without dimensions are errors. UserError kData names the byte where the file goes wrong.
Array read_npy(const std::filesystem::path& path);

}  // namespace rnnlab
