// IDX, the format of MNIST: two zero bytes, element type, number of dimensions, big-endian sizes, data.
// Any of its six types, 1 to 255 dimensions, plain or gzip. The data must end where the header says, to the byte.
// Source: the description beside the MNIST files, http://yann.lecun.com/exdb/mnist.
#pragma once

#include <filesystem>

#include "data/readers/array.h"

namespace rnnlab {

// UserError kData names the byte where the file goes wrong. Memory: the array itself; never more than the file can
// hold.
Array read_idx(const std::filesystem::path& path);

}  // namespace rnnlab
