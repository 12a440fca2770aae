// SPDX-License-Identifier: Apache-2.0
#include "data/readers/generated.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "data/readers/row_threads.h"

namespace rnnlab {
namespace {

constexpr double kTwoToMinus53 = 0x1p-53;

double uniform(uint64_t bits) { return static_cast<double>(bits >> 11) * kTwoToMinus53; }

// Returns the natural logarithm of a normal x > 0, with an error below 1e-13: x = m * 2^e with m near 1, and log m = 2
// artanh((m - 1) / (m + 1)).
double logarithm(double x) {
  constexpr uint64_t kSqrtHalf = 0x3FE6A09E667F3BCD;  // the bits of sqrt(1/2)
  const auto bits = std::bit_cast<uint64_t>(x);
  const auto exponent = static_cast<int64_t>(bits - kSqrtHalf) >> 52;
  const auto mantissa = std::bit_cast<double>(bits - (static_cast<uint64_t>(exponent) << 52));
  const double z = (mantissa - 1) / (mantissa + 1);
  const double w = z * z;
  const double series =
      1 + w * (1. / 3 + w * (1. / 5 + w * (1. / 7 + w * (1. / 9 + w * (1. / 11 + w * (1. / 13 + w * (1. / 15)))))));
  return static_cast<double>(exponent) * std::numbers::ln2 + 2 * z * series;
}

}  // namespace

// The Taylor series is evaluated within an eighth of a turn of the nearest quarter turn.
CosSin cos_sin(double turns) {
  const double quarter = std::floor(4 * turns + 0.5);
  const double t = (4 * turns - quarter) * (std::numbers::pi / 2);
  const double w = t * t;
  const double sine = t * (1 - w / 6 * (1 - w / 20 * (1 - w / 42 * (1 - w / 72 * (1 - w / 110)))));
  const double cosine = 1 - w / 2 * (1 - w / 12 * (1 - w / 30 * (1 - w / 56 * (1 - w / 90 * (1 - w / 132)))));
  switch (static_cast<int64_t>(quarter) & 3) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

RandomStream::RandomStream(std::initializer_list<uint64_t> key) {
  for (const uint64_t part : key) key_ = SplitMix64(key_ + SplitMix64(part).next()).next();
}

uint64_t RandomStream::bits(uint64_t index) const { return SplitMix64(key_ + index * SplitMix64::kStep).next(); }

std::pair<double, double> RandomStream::normal_pair(uint64_t pair) const {
  const double above_zero = uniform(bits(2 * pair)) + kTwoToMinus53;
  const double radius = std::sqrt(-2 * logarithm(above_zero));
  const CosSin direction = cos_sin(uniform(bits(2 * pair + 1)));
  return {radius * direction.cos, radius * direction.sin};
}

double RandomStream::next_uniform(double low, double high) { return low + (high - low) * uniform(bits(counter_++)); }

int64_t RandomStream::next_below(int64_t bound) {
  return static_cast<int64_t>(bits(counter_++) % static_cast<uint64_t>(bound));
}

void parallel_for(int64_t count, const std::function<void(int64_t, int64_t)>& body) {
  constexpr int64_t kMostThreads = 16;
  const int64_t num_parts =
      std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, std::min(kMostThreads, std::max<int64_t>(count, 1)));
  in_threads(num_parts, [&](int64_t part) { body(count * part / num_parts, count * (part + 1) / num_parts); });
}

namespace {

// The first part of a stream's key is the purpose of its numbers.
enum Purpose : uint64_t { kInputs = 1, kDirection = 3, kTargets = 4, kOrder = 11, kHand = 12, kNoise = 13 };

void fill_part(std::span<float> values, const RandomStream& stream, int64_t first_index) {
  size_t at = 0;
  while (at < values.size()) {
    const uint64_t index = static_cast<uint64_t>(first_index) + at;
    const auto [even, odd] = stream.normal_pair(index / 2);
    if (index % 2 == 0) values[at++] = static_cast<float>(even);
    if (at < values.size()) values[at++] = static_cast<float>(odd);
  }
}

void fill_from(const RandomStream& stream, std::span<float> values) {
  parallel_for(static_cast<int64_t>(values.size()), [&](int64_t begin, int64_t end) {
    const auto part = values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    fill_part(part, stream, begin);
  });
}

// Returns a direction of length 1 / sqrt(num_steps), so that the score's variance is 1.
std::vector<double> direction_of(int64_t num_steps, int64_t num_features, uint64_t seed) {
  const RandomStream stream{kDirection, seed};
  std::vector<double> direction;
  double squares = 0;
  for (int64_t i = 0; i < num_features; ++i) {
    direction.push_back(stream.normal_pair(static_cast<uint64_t>(i)).first);
    squares += direction.back() * direction.back();
  }
  for (double& weight : direction) weight /= std::sqrt(squares * static_cast<double>(num_steps));
  return direction;
}

double score_of(std::span<const float> sequence, const std::vector<double>& direction) {
  double score = 0;
  for (size_t at = 0; at < sequence.size(); at += direction.size())
    for (size_t i = 0; i < direction.size(); ++i) score += direction[i] * static_cast<double>(sequence[at + i]);
  return score;
}

}  // namespace

void fill_normal(std::span<float> values, uint64_t seed) { fill_from(RandomStream{kInputs, seed}, values); }

std::vector<float> random_targets(int64_t count, uint64_t seed) {
  std::vector<float> targets(static_cast<size_t>(count));
  fill_from(RandomStream{kTargets, seed}, targets);
  return targets;
}

std::vector<float> learnable_scores(std::span<const float> inputs, int64_t num_steps, int64_t num_features,
                                    uint64_t seed) {
  const auto length = static_cast<size_t>(num_steps * num_features);
  RNNLAB_INVARIANT(length > 0 && inputs.size() % length == 0, "inputs that are no whole sequences");
  const std::vector<double> direction = direction_of(num_steps, num_features, seed);
  std::vector<float> scores(inputs.size() / length);
  parallel_for(static_cast<int64_t>(scores.size()), [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      scores[i] = static_cast<float>(score_of(inputs.subspan(i * length, length), direction));
  });
  return scores;
}

std::vector<int64_t> classes_of_scores(std::span<const float> scores, int64_t num_classes) {
  std::vector<int64_t> classes;
  for (const float score : scores) {
    const double below = 0.5 * std::erfc(-static_cast<double>(score) / std::numbers::sqrt2);
    classes.push_back(std::min(static_cast<int64_t>(below * static_cast<double>(num_classes)), num_classes - 1));
  }
  return classes;
}

namespace {

using Form = std::vector<Stroke>;
using Forms = std::vector<Form>;

struct Ellipse {
  Point center;
  Point radius;
};

// Returns the arc from one angle to another, in turns, clockwise from the right.
Stroke arc(const Ellipse& ellipse, double begin, double end) {
  constexpr int kNumSteps = 16;
  Stroke stroke;
  for (int i = 0; i <= kNumSteps; ++i) {
    const CosSin at = cos_sin(begin + (end - begin) * i / kNumSteps);
    stroke.push_back({ellipse.center.x + ellipse.radius.x * at.cos, ellipse.center.y + ellipse.radius.y * at.sin});
  }
  return stroke;
}

// Joins two strokes without lifting the pen.
Stroke then(Stroke first, const Stroke& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Forms zero() { return {{arc({{.5, .5}, {.34, .48}}, -.25, .75)}}; }

Forms one() {
  const Stroke flag = {{.28, .24}, {.52, .02}, {.52, .98}};
  return {{{{.5, .02}, {.5, .98}}}, {flag}, {flag, {{.28, .98}, {.76, .98}}}};
}

Forms two() {
  const Stroke top = arc({{.48, .29}, {.3, .27}}, -.47, .1);
  return {{then(top, {{.18, .97}, {.86, .97}})}, {then(top, {{.4, .72}, {.16, .93}, {.5, .88}, {.88, .97}})}};
}

Forms three() {
  const Stroke lower = arc({{.44, .72}, {.33, .26}}, -.24, .42);
  return {{then(arc({{.45, .26}, {.27, .24}}, -.42, .23), lower)}, {then({{.18, .04}, {.76, .04}, {.44, .42}}, lower)}};
}

Forms four() {
  return {{{{.32, .04}, {.16, .6}, {.86, .6}}, {{.66, .26}, {.64, .98}}},
          {{{.62, .98}, {.62, .02}, {.12, .66}, {.88, .66}}}};
}

Forms five() {
  const Stroke belly = then({{.28, .05}, {.25, .47}}, arc({{.46, .69}, {.33, .29}}, -.36, .41));
  return {{belly, {{.28, .05}, {.8, .04}}}};
}

Forms six() {
  const Stroke loop = arc({{.5, .7}, {.29, .27}}, -.5, .5);
  return {{then(arc({{.77, .66}, {.56, .64}}, -.27, -.5), loop)}, {then({{.56, .02}, {.32, .38}, {.22, .62}}, loop)}};
}

Forms seven() {
  const Stroke hook = {{.14, .05}, {.84, .05}, {.42, .98}};
  return {{hook}, {hook, {{.36, .52}, {.78, .52}}}};
}

Forms eight() { return {{arc({{.5, .26}, {.25, .24}}, .25, 1.25), arc({{.5, .73}, {.31, .25}}, -.25, .75)}}; }

Forms nine() {
  const Stroke loop = arc({{.48, .3}, {.28, .27}}, 0, -1);
  return {{then(loop, {{.76, .3}, {.68, .98}})}, {then(loop, arc({{.28, .42}, {.48, .56}}, -.02, .21))}};
}

const std::array<Forms, 10>& all_digits() {
  static const std::array<Forms, 10> digits = {zero(), one(), two(),   three(), four(),
                                               five(), six(), seven(), eight(), nine()};
  return digits;
}

}  // namespace

int64_t num_digit_forms(int64_t digit) {
  return static_cast<int64_t>(all_digits().at(static_cast<size_t>(digit)).size());
}

const std::vector<Stroke>& digit_strokes(int64_t digit, int64_t form) {
  return all_digits().at(static_cast<size_t>(digit)).at(static_cast<size_t>(form));
}

namespace {

constexpr size_t kNumPixels = kDigitSize * kDigitSize;
constexpr int64_t kNumDigits = 10;

using Canvas = std::array<double, kNumPixels>;  // 0 paper ... 1 ink

// The style of one image. Lengths are in pixels, angles in turns.
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

  // Maps a point from the box of the strokes to the canvas.
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

// Returns the pixels whose centers lie in a range of coordinates.
std::pair<int64_t, int64_t> pixel_range(double low, double high) {
  const auto clamp = [](double x) { return std::clamp<int64_t>(static_cast<int64_t>(std::floor(x)), 0, kDigitSize); };
  return {clamp(low), clamp(high + 1)};
}

// The ink of a pixel is the part that the pen covers, with a linear edge of one pixel.
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

// NOLINTNEXTLINE(bugprone-incorrect-roundings): the same bytes as always, and the sum is exact enough
uint8_t to_byte(double brightness) { return static_cast<uint8_t>(std::clamp(brightness, 0., 1.) * 255 + .5); }

void develop(const Canvas& canvas, const Hand& hand, const RandomStream& random, std::span<uint8_t> pixels) {
  for (size_t i = 0; i < kNumPixels; i += 2) {
    const auto [first, second] = random.normal_pair(i / 2);
    pixels[i] = to_byte(hand.ink * canvas[i] + hand.noise * first);
    pixels[i + 1] = to_byte(hand.ink * canvas[i + 1] + hand.noise * second);
  }
}

// Returns the digits of images 10 * block ... 10 * block + 9 in shuffled order (Fisher and Yates).
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
