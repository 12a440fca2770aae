#include "inference/npy_file.h"

#include <fmt/format.h>

namespace rnnlab {

std::string npy_header(int64_t num_rows, int64_t num_columns) {
  constexpr size_t kAlignment = 64;
  std::string start("\x93NUMPY\x01\x00", 8);
  std::string entries =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", num_rows, num_columns);
  const size_t size = start.size() + 2 + entries.size() + 1;  // with its own length, and a line end
  entries.append((kAlignment - size % kAlignment) % kAlignment, ' ');
  entries += '\n';
  start += static_cast<char>(entries.size() & 0xff);
  start += static_cast<char>(entries.size() >> 8);
  return start + entries;
}

}  // namespace rnnlab
