#include "data/readers/array_stream.h"

#include "base/numbers.h"

namespace rnnlab {
namespace {

constexpr std::string_view kRemedy = "the file is damaged, fetch or write it again";

std::string wanted(ElementType type, std::span<const int64_t> shape, int64_t num_bytes) {
  return fmt::format("expected {} ({} of {})", counted(num_bytes, "byte"), format_shape(shape), element_name(type));
}

}  // namespace

Array read_array(ByteStream& stream, int64_t offset, ElementType type, std::vector<int64_t> shape) {
  const std::optional<int64_t> num_bytes = checked_num_bytes(shape, type);
  if (!num_bytes)
    throw_error(ExitCode::kData, "{}: {} of {} are more bytes than a file can hold: {}", stream.path(),
                format_shape(shape), element_name(type), kRemedy);
  const int64_t most_bytes = stream.most_bytes() - offset;
  if (*num_bytes > most_bytes)
    fail_at(stream, offset,
            fmt::format("room for {} up to the end, {}: {}", counted(most_bytes, "byte"),
                        wanted(type, shape, *num_bytes), kRemedy));

  Array array{type, std::move(shape), std::vector<std::byte>(static_cast<size_t>(*num_bytes))};
  const size_t got = stream.read(array.bytes);
  if (got < array.bytes.size())
    fail_at(stream, offset,
            fmt::format("the data ends after {}, {}: {}", counted(static_cast<int64_t>(got), "byte"),
                        wanted(type, array.shape, *num_bytes), kRemedy));
  std::byte extra{};
  if (stream.read({&extra, 1}) > 0)
    fail_at(stream, offset + *num_bytes,
            fmt::format("data follows the last element, {}: {}", wanted(type, array.shape, *num_bytes), kRemedy));
  return array;
}

}  // namespace rnnlab
