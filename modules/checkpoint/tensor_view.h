// A tensor as a file holds it: what it is called, what it is, and where its bytes stand. It owns no bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/enum_names.h"

namespace rnnlab {

// The types of numbers that checkpoints hold, by the names that the safetensors format gives them.
// Source: https://github.com/huggingface/safetensors, "Format".

enum class DType { kF64, kF32, kF16, kBf16, kI64, kI32, kI16, kI8, kU8, kBool };

int64_t bytes_of(DType dtype);  // of one number

// Names that the format has and rnnlab has no numbers for: "F8_E4M3", "U64".
std::vector<std::string_view> foreign_dtype_names();

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::DType> {
  static constexpr std::array<std::pair<rnnlab::DType, std::string_view>, 10> kNames = {{
      {rnnlab::DType::kF64, "F64"},
      {rnnlab::DType::kF32, "F32"},
      {rnnlab::DType::kF16, "F16"},
      {rnnlab::DType::kBf16, "BF16"},
      {rnnlab::DType::kI64, "I64"},
      {rnnlab::DType::kI32, "I32"},
      {rnnlab::DType::kI16, "I16"},
      {rnnlab::DType::kI8, "I8"},
      {rnnlab::DType::kU8, "U8"},
      {rnnlab::DType::kBool, "BOOL"},
  }};
};

namespace rnnlab {

// What a tensor must be. No size is negative; no size at all is a scalar.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;

  bool operator==(const TensorSpec&) const = default;
};

struct TensorView {
  TensorSpec spec;
  std::span<const std::byte> bytes;  // contiguous, the last dimension fastest, little-endian; aligned for nothing
};

// How many bytes such a tensor takes, or nothing where that does not fit into 63 bits.
std::optional<int64_t> num_bytes(const TensorSpec& spec);

// "[2, 3]", "[]".
std::string shape_text(const TensorSpec& spec);

}  // namespace rnnlab
