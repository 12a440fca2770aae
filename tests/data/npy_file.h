// SPDX-License-Identifier: Apache-2.0
// The bytes of an npy file, for tests that need one.
#pragma once

#include <string>
#include <vector>

namespace rnnlab {

// Returns version 1.0 in C order; `type` is NumPy's, such as "<f4", and `shape` is "3, 2" or "3,".
template <class T>
std::string npy_file(const std::string& type, const std::string& shape, const std::vector<T>& values) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((header.size() + 10) / 64 * 64 + 64 - 11, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return bytes;
}

}  // namespace rnnlab
