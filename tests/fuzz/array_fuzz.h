// SPDX-License-Identifier: Apache-2.0
// Checks of the readers of arrays: an array has consistent fields and does not take more bytes than its file allows,
// and the same file as gzip has the same content.
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>

#include "data/readers/array.h"
#include "fuzz/gzip_of.h"
#include "fuzz/memory_file.h"

namespace rnnlab::testing {

using ReadArray = Array (*)(const std::filesystem::path& path);

inline std::optional<Array> read_or_refused(ReadArray read, std::string_view bytes) {
  static MemoryFile file;
  std::optional<Array> array;
  expect_read_or_refused(ExitCode::kData, [&] { array = read(file.holding(bytes)); });
  return array;
}

inline void require_promises(const Array& array, size_t file_bytes) {
  constexpr size_t kMostWidening = 2;  // 16-bit floats are read as 32-bit floats
  require(!array.shape.empty() && std::ranges::all_of(array.shape, [](int64_t size) { return size >= 1; }));
  require(checked_num_bytes(array.shape, array.type) == static_cast<int64_t>(array.bytes.size()));
  require(array.bytes.size() <= kMostWidening * file_bytes);
}

inline void fuzz_array(ReadArray read, std::string_view bytes) {
  const std::optional<Array> array = read_or_refused(read, bytes);
  if (array) require_promises(*array, bytes.size());
  const bool is_gzip = bytes.starts_with("\x1f\x8b");
  if (is_gzip) return;
  const std::optional<Array> unpacked = read_or_refused(read, gzip_of(bytes));
  require(unpacked.has_value() == array.has_value());
  if (array)
    require(unpacked->type == array->type && unpacked->shape == array->shape && unpacked->bytes == array->bytes);
}

}  // namespace rnnlab::testing
