// A tensor as a file holds it: what it is called, what it is, and where its bytes stand. It owns no bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/dtype.h"

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
