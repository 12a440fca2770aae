#include "checkpoint/tensor_view.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"

namespace rnnlab {

int64_t bytes_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBf16:
    case DType::kI16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  fail_invariant("a listed dtype", __FILE__, __LINE__, "bytes_of does not know it");
}

std::vector<std::string_view> foreign_dtype_names() {
  return {"F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F6_E2M3",
          "F6_E3M2", "F4",      "U16",     "U32",         "U64",         "C64"};
}

std::optional<int64_t> num_bytes(const TensorSpec& spec) {
  // A size of zero does not hide an overflow, because libraries multiply the remaining sizes for strides.
  std::optional<int64_t> bytes = bytes_of(spec.dtype);
  for (const int64_t size : spec.shape)
    if (bytes) bytes = checked_multiply(*bytes, std::max<int64_t>(size, 1));
  const bool is_empty = std::ranges::find(spec.shape, 0) != spec.shape.end();
  return bytes && is_empty ? 0 : bytes;
}

std::string shape_text(const TensorSpec& spec) { return fmt::format("[{}]", fmt::join(spec.shape, ", ")); }

}  // namespace rnnlab
