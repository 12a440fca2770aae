// The header of an npy file: a Python dictionary of three keys. Parsed strictly; nothing is evaluated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/readers/byte_stream.h"

namespace rnnlab {

struct NpyHeader {
  char byte_order = '<';     // '<', '>', or '|' where elements are single bytes
  std::string element_code;  // "f4": NumPy's kind and number of bytes
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// `text` was read from `stream`, where it begins at `offset`: messages name both. UserError kData.
NpyHeader parse_npy_header(std::string_view text, const ByteStream& stream, int64_t offset);

}  // namespace rnnlab
