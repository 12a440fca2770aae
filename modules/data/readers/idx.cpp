// SPDX-License-Identifier: Apache-2.0
#include "data/readers/array.h"

#include <array>
#include <bit>

#include "base/numbers.h"

namespace rnnlab {
namespace {

constexpr int64_t kFixedBytes = 4;  // two zeros, the type, the number of dimensions
constexpr std::string_view kNotIdx = "check the path, or name the format that the file really has";

ElementType element_type(const ByteStream& stream, std::byte code) {
  if (const auto type = type_of_idx_code(std::to_integer<int>(code))) return *type;
  fail_at(
      stream, 2,
      fmt::format("got element type {:02x}, expected 08 (u8), 09 (i8), 0b (i16), 0c (i32), 0d (f32) or 0e (f64): {}",
                  std::to_integer<int>(code), kNotIdx));
}

uint32_t big_endian(std::span<const std::byte, 4> bytes) {
  uint32_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<uint32_t>(byte);
  return value;
}

// Reads the type and the number of dimensions.
std::pair<ElementType, int64_t> read_fixed_header(ByteStream& stream) {
  std::array<std::byte, kFixedBytes> bytes{};
  const auto got = static_cast<int64_t>(stream.read(bytes));
  if (got == 0) throw_error(ExitCode::kData, "{}: empty file, expected IDX data: fetch the file again", stream.path());
  if (got < kFixedBytes)
    fail_at(stream, got, fmt::format("the file ends inside the IDX header, expected at least 8 bytes: {}", kNotIdx));
  if (bytes[0] != std::byte{0} || bytes[1] != std::byte{0})
    fail_at(stream, 0,
            fmt::format("got {}, expected 00 00, the start of IDX data: {}", format_hex(std::span(bytes).first(2)),
                        kNotIdx));
  const ElementType type = element_type(stream, bytes[2]);
  const auto num_dimensions = std::to_integer<int64_t>(bytes[3]);
  if (num_dimensions == 0) fail_at(stream, 3, fmt::format("got 0 dimensions, expected 1 to 255: {}", kNotIdx));
  return {type, num_dimensions};
}

std::vector<int64_t> read_sizes(ByteStream& stream, int64_t num_dimensions) {
  std::vector<int64_t> shape;
  for (int64_t i = 0; i < num_dimensions; ++i) {
    std::array<std::byte, 4> bytes{};
    const int64_t offset = kFixedBytes + 4 * i;
    const size_t got = stream.read(bytes);
    if (got < bytes.size())
      fail_at(stream, offset + static_cast<int64_t>(got),
              fmt::format("the file ends inside the sizes of its {}: fetch it again",
                          counted(num_dimensions, "dimension")));
    shape.push_back(big_endian(bytes));
    if (shape.back() == 0)
      fail_at(stream, offset,
              fmt::format("dimension {} has size 0, expected at least 1: the file holds no data", i + 1));
  }
  return shape;
}

}  // namespace

Array read_idx(const std::filesystem::path& path) {
  const std::unique_ptr<ByteStream> stream = open_stream(path);
  const auto [type, num_dimensions] = read_fixed_header(*stream);
  std::vector<int64_t> shape = read_sizes(*stream, num_dimensions);
  Array array = read_array(*stream, kFixedBytes + 4 * num_dimensions, type, std::move(shape));
  if constexpr (std::endian::native == std::endian::little) swap_bytes(array.bytes, element_size(type));
  return array;
}

}  // namespace rnnlab
