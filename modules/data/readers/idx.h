// IDX, the format of MNIST: two zero bytes, element type, number of dimensions, big-endian sizes, data.
// The reader accepts all six types, 1 to 255 dimensions, plain or gzip. The data must end exactly at the end of the
// file.
// Source: the description of the MNIST files, http://yann.lecun.com/exdb/mnist.
#pragma once

#include <filesystem>

#include "data/readers/array.h"

namespace rnnlab {

// Throws UserError kData with the byte at which the file is invalid. The memory is the array itself, and never exceeds
// what the file can hold.
Array read_idx(const std::filesystem::path& path);

}  // namespace rnnlab
