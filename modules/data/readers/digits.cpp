#include "data/readers/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "data/readers/digit_strokes.h"
#include "data/readers/parallel.h"
#include "data/readers/random_stream.h"

namespace rnnlab {
namespace {

constexpr size_t kNumPixels = kDigitSize * kDigitSize;
constexpr int64_t kNumDigits = 10;

// The first part of a stream's key: what its numbers are for.
enum Purpose : uint64_t { kOrder = 11, kHand = 12, kNoise = 13 };

using Canvas = std::array<double, kNumPixels>;  // 0 paper ... 1 ink

// How one image is written. Lengths in pixels, angles in turns.
struct Hand {
  explicit Hand(RandomStream& random)
      : height(random.next_uniform(13, 21)),
        width(height * random.next_uniform(.6, 1)),
        slant(random.next_uniform(-.3, .3)),
        rotation(cos_sin(random.next_uniform(-.05, .05))),
        center{14 + random.next_uniform(-3.5, 3.5), 14 + random.next_uniform(-3, 3)},
        pen_radius(random.next_uniform(.6, 1.5)),
        ink(random.next_uniform(.65, 1)),
        noise(random.next_uniform(.02, .14)),
        wobble(random.next_uniform(0, .06)),
        wobble_phase{random.next_uniform(0, 1), random.next_uniform(0, 1)},
        wobble_waves(random.next_uniform(.6, 1.4)) {}

  // From the box of the strokes to the canvas.
  Point place(Point point) const {
    const double x = point.x + wobble * cos_sin(wobble_waves * point.y + wobble_phase.x).sin - .5;
    const double y = point.y + wobble * cos_sin(wobble_waves * point.x + wobble_phase.y).sin - .5;
    const double u = width * x - slant * height * y;
    const double v = height * y;
    return {center.x + rotation.cos * u - rotation.sin * v, center.y + rotation.sin * u + rotation.cos * v};
  }

  double height;
  double width;
  double slant;
  CosSin rotation;
  Point center;
  double pen_radius;
  double ink;
  double noise;   // standard deviation
  double wobble;  // in heights
  Point wobble_phase;
  double wobble_waves;
};

double distance_to_segment(Point point, Point a, Point b) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double length = dx * dx + dy * dy;
  const double along = length > 0 ? std::clamp(((point.x - a.x) * dx + (point.y - a.y) * dy) / length, 0., 1.) : 0;
  const double x = point.x - a.x - along * dx;
  const double y = point.y - a.y - along * dy;
  return std::sqrt(x * x + y * y);
}

// The pixels whose centers a coordinate range touches.
std::pair<int64_t, int64_t> pixel_range(double low, double high) {
  const auto clamp = [](double x) { return std::clamp<int64_t>(static_cast<int64_t>(std::floor(x)), 0, kDigitSize); };
  return {clamp(low), clamp(high + 1)};
}

// A pixel is ink as far as the pen covers it, to within the edge's one pixel.
void draw_segment(Canvas& canvas, Point a, Point b, double pen_radius) {
  const double reach = pen_radius + .5;
  const auto [top, bottom] = pixel_range(std::min(a.y, b.y) - reach, std::max(a.y, b.y) + reach);
  const auto [left, right] = pixel_range(std::min(a.x, b.x) - reach, std::max(a.x, b.x) + reach);
  for (int64_t row = top; row < bottom; ++row) {
    for (int64_t column = left; column < right; ++column) {
      const Point center{static_cast<double>(column) + .5, static_cast<double>(row) + .5};
      const double cover = std::clamp(reach - distance_to_segment(center, a, b), 0., 1.);
      double& pixel = canvas[static_cast<size_t>(row * kDigitSize + column)];
      pixel = std::max(pixel, cover);
    }
  }
}

void draw_strokes(Canvas& canvas, const std::vector<Stroke>& strokes, const Hand& hand) {
  for (const Stroke& stroke : strokes) {
    Point from = hand.place(stroke[0]);
    for (const Point& point : stroke) {
      const Point to = hand.place(point);
      draw_segment(canvas, from, to, hand.pen_radius);
      from = to;
    }
  }
}

uint8_t to_byte(double brightness) { return static_cast<uint8_t>(std::clamp(brightness, 0., 1.) * 255 + .5); }

void develop(const Canvas& canvas, const Hand& hand, const RandomStream& random, std::span<uint8_t> pixels) {
  for (size_t i = 0; i < kNumPixels; i += 2) {
    const auto [first, second] = random.normal_pair(i / 2);
    pixels[i] = to_byte(hand.ink * canvas[i] + hand.noise * first);
    pixels[i + 1] = to_byte(hand.ink * canvas[i + 1] + hand.noise * second);
  }
}

// The digits of images 10 * block ... 10 * block + 9: a shuffle (Fisher and Yates).
std::array<uint8_t, kNumDigits> digits_of_block(uint64_t seed, DigitSplit split, int64_t block) {
  RandomStream random{kOrder, seed, static_cast<uint64_t>(split), static_cast<uint64_t>(block)};
  std::array<uint8_t, kNumDigits> digits{};
  std::iota(digits.begin(), digits.end(), uint8_t{0});
  for (int64_t i = kNumDigits - 1; i > 0; --i)
    std::swap(digits[static_cast<size_t>(i)], digits[static_cast<size_t>(random.next_below(i + 1))]);
  return digits;
}

void draw_digit(uint8_t digit, uint64_t seed, DigitSplit split, int64_t index, std::span<uint8_t> pixels) {
  RandomStream random{kHand, seed, static_cast<uint64_t>(split), static_cast<uint64_t>(index)};
  const Hand hand(random);
  const int64_t form = random.next_below(num_digit_forms(digit));
  Canvas canvas{};
  draw_strokes(canvas, digit_strokes(digit, form), hand);
  develop(canvas, hand, RandomStream{kNoise, seed, static_cast<uint64_t>(split), static_cast<uint64_t>(index)}, pixels);
}

}  // namespace

LabelledImages generate_digits(int64_t count, uint64_t seed, DigitSplit split) {
  RNNLAB_INVARIANT(count >= 1, "no digits asked for");
  const auto size = static_cast<size_t>(count);
  LabelledImages result{{ElementType::kU8, {count, kDigitSize, kDigitSize}, std::vector<std::byte>(size * kNumPixels)},
                        {ElementType::kU8, {count}, std::vector<std::byte>(size)}};
  const std::span<uint8_t> pixels = result.images.values<uint8_t>();
  const std::span<uint8_t> labels = result.labels.values<uint8_t>();
  parallel_for(count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      labels[at] = digits_of_block(seed, split, i / kNumDigits)[static_cast<size_t>(i % kNumDigits)];
      draw_digit(labels[at], seed, split, i, pixels.subspan(at * kNumPixels, kNumPixels));
    }
  });
  return result;
}

}  // namespace rnnlab
