#include "data/readers/array.h"

#include <algorithm>
#include <array>

#include "base/numbers.h"

namespace rnnlab {
namespace {

struct ElementFacts {
  std::string_view name;
  int64_t size;
};

// The entries are in the order of ElementType.
constexpr std::array<ElementFacts, 11> kElements = {{
    {"bool", 1},
    {"u8", 1},
    {"i8", 1},
    {"u16", 2},
    {"i16", 2},
    {"u32", 4},
    {"i32", 4},
    {"u64", 8},
    {"i64", 8},
    {"f32", 4},
    {"f64", 8},
}};

const ElementFacts& facts(ElementType type) { return kElements.at(static_cast<size_t>(type)); }

}  // namespace

std::string_view element_name(ElementType type) { return facts(type).name; }

int64_t element_size(ElementType type) { return facts(type).size; }

std::optional<int64_t> checked_num_bytes(std::span<const int64_t> shape, ElementType type) {
  // The product may overflow before a size of 0 is reached, so a 0 is handled first.
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  std::optional<int64_t> product = element_size(type);
  for (const int64_t size : shape) {
    product = checked_multiply(*product, size);
    if (!product) return std::nullopt;
  }
  return product;
}

std::string format_shape(std::span<const int64_t> shape) {
  constexpr size_t kMostShown = 8;
  if (shape.size() <= kMostShown) return fmt::format("{}", fmt::join(shape, " x "));
  return fmt::format("{} x ... ({} dimensions)", fmt::join(shape.first(kMostShown), " x "), shape.size());
}

void swap_bytes(std::span<std::byte> bytes, int64_t element_size) {
  const auto width = static_cast<size_t>(element_size);
  for (size_t at = 0; at + width <= bytes.size(); at += width) std::ranges::reverse(bytes.subspan(at, width));
}

namespace {

constexpr std::string_view kRemedyOfArray = "the file is damaged, fetch or write it again";

std::string wanted(ElementType type, std::span<const int64_t> shape, int64_t num_bytes) {
  return fmt::format("expected {} ({} of {})", counted(num_bytes, "byte"), format_shape(shape), element_name(type));
}

}  // namespace

Array read_array(ByteStream& stream, int64_t offset, ElementType type, std::vector<int64_t> shape) {
  const std::optional<int64_t> num_bytes = checked_num_bytes(shape, type);
  if (!num_bytes)
    throw_error(ExitCode::kData, "{}: {} of {} need more bytes than a file can hold: {}", stream.path(),
                format_shape(shape), element_name(type), kRemedyOfArray);
  const int64_t most_bytes = stream.most_bytes() - offset;
  if (*num_bytes > most_bytes)
    fail_at(stream, offset,
            fmt::format("room for {} up to the end, {}: {}", counted(most_bytes, "byte"),
                        wanted(type, shape, *num_bytes), kRemedyOfArray));

  Array array{type, std::move(shape), std::vector<std::byte>(static_cast<size_t>(*num_bytes))};
  const size_t got = stream.read(array.bytes);
  if (got < array.bytes.size())
    fail_at(stream, offset,
            fmt::format("the data ends after {}, {}: {}", counted(static_cast<int64_t>(got), "byte"),
                        wanted(type, array.shape, *num_bytes), kRemedyOfArray));
  std::byte extra{};
  if (stream.read({&extra, 1}) > 0)
    fail_at(
        stream, offset + *num_bytes,
        fmt::format("data follows the last element, {}: {}", wanted(type, array.shape, *num_bytes), kRemedyOfArray));
  return array;
}

}  // namespace rnnlab
