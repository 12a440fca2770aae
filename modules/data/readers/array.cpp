// SPDX-License-Identifier: Apache-2.0
#include "data/readers/array.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/numbers.h"

namespace rnnlab {
namespace {

struct ElementFacts {
  std::string_view name;
  int64_t size;
  std::string_view npy_code;
  int idx_code;  // 0: IDX does not have the type
};

// The entries are in the order of ElementType.
constexpr std::array<ElementFacts, 11> kElements = {{
    {"bool", 1, "b1", 0},
    {"u8", 1, "u1", 0x08},
    {"i8", 1, "i1", 0x09},
    {"u16", 2, "u2", 0},
    {"i16", 2, "i2", 0x0b},
    {"u32", 4, "u4", 0},
    {"i32", 4, "i4", 0x0c},
    {"u64", 8, "u8", 0},
    {"i64", 8, "i8", 0},
    {"f32", 4, "f4", 0x0d},
    {"f64", 8, "f8", 0x0e},
}};

const ElementFacts& facts(ElementType type) { return kElements.at(static_cast<size_t>(type)); }

template <class Code>
std::optional<ElementType> type_with(const Code& code, Code ElementFacts::*member) {
  const auto* const found = std::ranges::find(kElements, code, member);
  return found == kElements.end() ? std::nullopt : std::optional(static_cast<ElementType>(found - kElements.begin()));
}

}  // namespace

std::string_view element_name(ElementType type) { return facts(type).name; }

std::optional<ElementType> type_of_npy_code(std::string_view code) { return type_with(code, &ElementFacts::npy_code); }

std::optional<ElementType> type_of_idx_code(int code) {
  return code == 0 ? std::nullopt : type_with(code, &ElementFacts::idx_code);
}

int64_t element_size(ElementType type) { return facts(type).size; }

bool is_integer(ElementType type) { return type != ElementType::kF32 && type != ElementType::kF64; }

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

namespace {

constexpr int64_t kWidth = 80;
constexpr std::string_view kShades = " .:-=+*#%@";

struct Image {
  std::vector<float> pixels;
  int64_t num_rows;
  int64_t num_columns;
};

// Averages blocks of factor x factor pixels; blocks at the right and lower edge may be smaller.
Image shrink(std::span<const float> pixels, int64_t num_rows, int64_t num_columns, int64_t factor) {
  Image result{{}, (num_rows + factor - 1) / factor, (num_columns + factor - 1) / factor};
  for (int64_t row = 0; row < num_rows; row += factor) {
    for (int64_t column = 0; column < num_columns; column += factor) {
      double sum = 0;
      int64_t count = 0;
      for (int64_t y = row; y < std::min(row + factor, num_rows); ++y)
        for (int64_t x = column; x < std::min(column + factor, num_columns); ++x, ++count)
          sum += static_cast<double>(pixels[static_cast<size_t>(y * num_columns + x)]);
      result.pixels.push_back(static_cast<float>(sum / static_cast<double>(count)));
    }
  }
  return result;
}

struct Range {
  float low = INFINITY;
  float high = -INFINITY;
};

Range finite_range(const std::vector<float>& pixels) {
  Range range;
  for (const float pixel : pixels) {
    if (!std::isfinite(pixel)) continue;
    range.low = std::min(range.low, pixel);
    range.high = std::max(range.high, pixel);
  }
  return range;
}

char shade(float pixel, Range range) {
  if (std::isnan(pixel)) return '?';
  if (pixel <= range.low || !(range.high > range.low)) return kShades.front();
  if (pixel >= range.high) return kShades.back();
  const float brightness = pixel / (range.high - range.low) - range.low / (range.high - range.low);
  return kShades[std::min(static_cast<size_t>(brightness * static_cast<float>(kShades.size())), kShades.size() - 1)];
}

}  // namespace

std::string ascii_image(std::span<const float> pixels, int64_t num_rows, int64_t num_columns) {
  const Image image = shrink(pixels, num_rows, num_columns, (num_columns + kWidth - 1) / kWidth);
  const size_t repeat = 2 * image.num_columns <= kWidth ? 2 : 1;
  const Range range = finite_range(image.pixels);
  std::string picture;
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    picture.append(repeat, shade(image.pixels[i], range));
    if ((i + 1) % static_cast<size_t>(image.num_columns) == 0) picture += '\n';
  }
  return picture;
}

std::string ascii_image(const Array& images, int64_t index) {
  const size_t rank = images.shape.size();
  RNNLAB_INVARIANT(rank == 2 || rank == 3, "an array that holds no images");
  const int64_t num_rows = images.shape[rank - 2];
  const int64_t num_columns = images.shape[rank - 1];
  const auto size = static_cast<size_t>(num_rows * num_columns);
  return visit_values(images, [&](auto values) {
    const auto image = values.subspan(static_cast<size_t>(index) * size, size);
    std::vector<float> pixels;
    for (const auto value : image) pixels.push_back(static_cast<float>(value));
    return ascii_image(pixels, num_rows, num_columns);
  });
}

}  // namespace rnnlab
