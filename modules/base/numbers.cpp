// SPDX-License-Identifier: Apache-2.0
#include "base/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace rnnlab {
namespace {

// std::from_chars rejects a plus sign.
std::string_view without_plus(std::string_view text) {
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  return plus ? text.substr(1) : text;
}

template <class T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPowersOfTen[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Appends digits to `value` and returns the place after them. The value of more than 19 digits wraps around.
size_t read_digits(std::string_view text, size_t at, uint64_t& value) {
  for (; at < text.size() && is_digit(text[at]); ++at) value = 10 * value + static_cast<uint64_t>(text[at] - '0');
  return at;
}

// Returns whether these eight characters are digits.
bool are_digits(uint64_t word) {
  constexpr uint64_t kHighHalves = 0xF0F0F0F0F0F0F0F0U;
  return ((word & kHighHalves) | ((word + 0x0606060606060606U) & kHighHalves) >> 4) == 0x3333333333333333U;
}

// Returns the value of eight digits, the first one in the lowest byte: of neighbours first, then of pairs and of fours.
uint64_t value_of_digits(uint64_t word) {
  word -= 0x3030303030303030U;
  word = word * 10 + (word >> 8);
  const uint64_t outer = (word & 0x000000FF000000FFU) * (100 + (uint64_t{1'000'000} << 32));
  const uint64_t inner = (word >> 16 & 0x000000FF000000FFU) * (1 + (uint64_t{10'000} << 32));
  return (outer + inner) >> 32;
}

// Appends the characters from `at` on to `value`, and returns whether they are digits. Up to eight digits are read
// together, after the last eight bytes of the text were loaded and those before the digits became zeros.
bool append_last_digits(std::string_view text, size_t at, uint64_t& value) {
  constexpr size_t kTogether = sizeof(uint64_t);
  const size_t count = text.size() - at;
  const bool is_little_endian = std::endian::native == std::endian::little;
  if (!is_little_endian || count == 0 || count > kTogether || text.size() < kTogether)
    return read_digits(text, at, value) == text.size();
  uint64_t word = 0;
  std::memcpy(&word, text.data() + text.size() - kTogether, kTogether);
  const uint64_t bits_before = 8 * (kTogether - count);
  word = (word >> bits_before << bits_before) | (0x3030303030303030U & ~(~uint64_t{0} << bits_before));
  value = value * static_cast<uint64_t>(kPowersOfTen[count]) + value_of_digits(word);
  return are_digits(word);
}

// Returns the value of a number without an exponent that has at most 15 digits, as most numbers in files have. Both the
// digits and the power of ten are exact as doubles, so their quotient is the nearest double to the number. Returns NaN
// for any other text. The sign is an index because the processor cannot predict a branch on it.
double parse_short_decimal(std::string_view text) {
  constexpr size_t kMostDigits = std::size(kPowersOfTen) - 1;
  constexpr double kSigns[] = {1, -1};
  if (text.empty()) return kNan;
  const auto first = static_cast<size_t>(text[0] == '-');
  uint64_t digits = 0;
  const size_t point = read_digits(text, first, digits);
  const size_t num_decimals = point < text.size() ? text.size() - point - 1 : 0;
  const size_t num_digits = point - first + num_decimals;
  if (num_digits == 0 || num_digits > kMostDigits) return kNan;
  if (point < text.size() && (text[point] != '.' || !append_last_digits(text, point + 1, digits))) return kNan;
  return kSigns[first] * (static_cast<double>(static_cast<int64_t>(digits)) / kPowersOfTen[num_decimals]);
}

}  // namespace

std::optional<int64_t> parse_int64(std::string_view text) {
  const std::string_view number = without_plus(text);
  const std::string_view digits = number.starts_with('-') ? number.substr(1) : number;
  if (digits.size() > 1 && digits[0] == '0') return std::nullopt;
  return parse_whole<int64_t>(number);
}

std::optional<int64_t> parse_int64(std::string_view text, int64_t least, int64_t most) {
  const auto number = parse_int64(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

double parse_double_or_nan(std::string_view text) {
  const double short_value = parse_short_decimal(text);
  if (!std::isnan(short_value)) return short_value;
  const auto value = parse_whole<double>(without_plus(text));
  return value && std::isfinite(*value) ? *value : kNan;
}

std::optional<double> parse_double(std::string_view text) {
  const double value = parse_double_or_nan(text);
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

std::string format_shortest(double value) { return std::isnan(value) ? "nan" : fmt::format("{}", value); }

std::string format_bytes(int64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  constexpr double kRoundsUp = 1023.995;  // two decimals round this value up to the next unit
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto scaled = static_cast<double>(bytes);
  size_t unit = 0;
  for (; scaled >= kRoundsUp && unit + 1 < kUnits.size(); ++unit) scaled /= 1024;
  return fmt::format("{:.2f} {}", scaled, kUnits[unit]);
}

std::string format_seconds(double seconds) {
  constexpr double kRoundsUp = 0.9995;  // three digits round this value up to 1 of the unit
  if (seconds >= 1000 * kRoundsUp) return fmt::format("{:.0f} s", seconds);
  if (seconds >= kRoundsUp || seconds == 0) return fmt::format("{:.3g} s", seconds);
  if (seconds >= kRoundsUp * 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string format_duration(double seconds) {
  constexpr int64_t kMinute = 60, kHour = 3600;
  const int64_t whole = std::llround(seconds);
  if (whole < kMinute) return format_seconds(seconds);
  if (whole >= kHour) return fmt::format("{} h {} min", whole / kHour, whole % kHour / kMinute);
  return fmt::format("{} min {} s", whole / kMinute, whole % kMinute);
}

std::string format_count(int64_t count) {
  std::string digits = fmt::format("{}", count);
  const int64_t first = count < 0 ? 1 : 0;
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > first; at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string counted(int64_t count, std::string_view noun) {
  const std::string_view ending = count == 1 || noun.ends_with("series") ? "" : noun.ends_with('s') ? "es" : "s";
  return fmt::format("{} {}{}", format_count(count), noun, ending);
}

int decimals_for(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return digits - 1;
  const std::string rounded = fmt::format("{:.{}e}", value, digits - 1);  // "9.996" with three digits is "1.00e+01"
  const auto exponent = parse_whole<int>(without_plus(std::string_view(rounded).substr(rounded.find('e') + 1)));
  return std::max(digits - 1 - exponent.value_or(0), 0);
}

std::string format_significant(double value, int digits) {
  if (std::isnan(value)) return "nan";
  return fmt::format("{:.{}f}", value, decimals_for(value, digits));
}

std::string format_within(size_t width, std::string_view format, double value) {
  if (std::isnan(value)) return "nan";  // The sign of a NaN has no meaning.
  std::string text = fmt::format(fmt::runtime(format), value);
  return text.size() <= width ? text : fmt::format("{:.3e}", value);
}

std::optional<int64_t> checked_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

int64_t saturating_multiply(int64_t a, int64_t b) {
  return checked_multiply(a, b).value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace rnnlab
