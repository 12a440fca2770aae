#include "data/readers/ascii_image.h"

#include <algorithm>
#include <cmath>

namespace rnnlab {
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
