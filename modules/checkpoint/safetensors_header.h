// The header of a safetensors file: the JSON object that says what each tensor is and where its bytes stand.
// Reading is strict and takes memory in proportion to the text. Whether the tensors fill the buffer is the caller's.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/tensor_view.h"

namespace rnnlab {

inline constexpr size_t kLengthBytes = 8;  // of the header's length, which stands before the header

struct SafetensorsEntry {
  TensorSpec spec;
  uint64_t begin = 0;  // in the buffer behind the header
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // as they come
  std::map<std::string, std::string> metadata;
};

// `file` is how messages call the file. UserError kCheckpoint for anything but one JSON object of tensors: not UTF-8,
// an unknown or duplicate key, a missing or mistyped value, an unknown dtype, a size that is no whole number.
SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& file);

// Padded with spaces to whole 8 bytes.
std::string safetensors_header_text(const SafetensorsHeader& header);

}  // namespace rnnlab
