// A tensor in a file: its name, type, shape and a view of its bytes. It does not own the bytes.
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

// The number types of checkpoints, with their names in the safetensors format.
// Source: https://github.com/huggingface/safetensors, "Format".
enum class DType { kF64, kF32, kF16, kBf16, kI64, kI32, kI16, kI8, kU8, kBool };

int64_t bytes_of(DType dtype);  // of one number

// Returns the types of the format that rnnlab does not support, such as "F8_E4M3" and "U64".
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

// The name, type and shape of a tensor. Sizes are not negative. A tensor without sizes is a scalar.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;

  bool operator==(const TensorSpec&) const = default;
};

struct TensorView {
  TensorSpec spec;
  std::span<const std::byte> bytes;  // contiguous, the last dimension fastest, little-endian; not aligned
};

// Returns the bytes of a tensor of this type and shape, or nullopt if the number exceeds 63 bits.
std::optional<int64_t> num_bytes(const TensorSpec& spec);

// Returns a text such as "[2, 3]" or "[]".
std::string shape_text(const TensorSpec& spec);

}  // namespace rnnlab
