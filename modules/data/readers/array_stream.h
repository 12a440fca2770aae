// The data part that IDX and npy share: so many elements in one block, and then the end of the file, to the byte.
#pragma once

#include "data/readers/array.h"
#include "data/readers/byte_stream.h"

namespace rnnlab {

// Reads the elements as they lie in the file, whatever their byte order. `offset` is where the stream stands.
// The sizes are held against what the file can hold before any memory is taken.
Array read_array(ByteStream& stream, int64_t offset, ElementType type, std::vector<int64_t> shape);

}  // namespace rnnlab
