#include "checkpoint/tensor_view.h"

#include <fmt/ranges.h>

#include "base/numbers.h"

namespace rnnlab {

std::optional<int64_t> num_bytes(const TensorSpec& spec) {
  std::optional<int64_t> bytes = bytes_of(spec.dtype);
  for (const int64_t size : spec.shape)
    if (bytes) bytes = checked_multiply(*bytes, size);
  return bytes;
}

std::string shape_text(const TensorSpec& spec) { return fmt::format("[{}]", fmt::join(spec.shape, ", ")); }

}  // namespace rnnlab
