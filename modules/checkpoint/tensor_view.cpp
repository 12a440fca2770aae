#include "checkpoint/tensor_view.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/numbers.h"

namespace rnnlab {

std::optional<int64_t> num_bytes(const TensorSpec& spec) {
  // A size of zero does not excuse the others: libraries multiply them for strides.
  std::optional<int64_t> bytes = bytes_of(spec.dtype);
  for (const int64_t size : spec.shape)
    if (bytes) bytes = checked_multiply(*bytes, std::max<int64_t>(size, 1));
  const bool is_empty = std::ranges::find(spec.shape, 0) != spec.shape.end();
  return bytes && is_empty ? 0 : bytes;
}

std::string shape_text(const TensorSpec& spec) { return fmt::format("[{}]", fmt::join(spec.shape, ", ")); }

}  // namespace rnnlab
