// Numbers from text and back, independent of the locale. Strict: the whole text must be the number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rnnlab {

// Decimal integers with an optional sign ("42", "-7", "+3"). No hexadecimal, no octal, no separators, no spaces:
// "010" is refused, for people do not agree on what it means.
std::optional<int64_t> parse_int64(std::string_view text);

// Decimal floating point, "1e3" and "-.5" included. "nan", "inf" and what overflows are refused.
std::optional<double> parse_double(std::string_view text);

// The shortest text that parse_double reads back to the same value.
std::string format_shortest(double value);

// "1.50 GiB", "312 B".
std::string format_bytes(int64_t bytes);

// Three significant digits with the unit that fits: "1.23 s", "45.6 ms", "7.89 us"; all digits of whole seconds,
// "1234 s".
std::string format_seconds(double seconds);

// As format_seconds below a minute, and "3 min 20 s" from there on.
std::string format_duration(double seconds);

// "1,234,567".
std::string format_count(int64_t count);

// "1 token", "1,234 tokens", "2 classes": the noun in the singular, whose plural is regular.
std::string counted(int64_t count, std::string_view noun);

// By fmt's `format` ("{:.4f}") where that takes at most `width` columns, else "1.234e+30".
std::string format_within(size_t width, std::string_view format, double value);

// a * b, or nothing where it does not fit.
std::optional<int64_t> checked_multiply(int64_t a, int64_t b);

// The same for sizes that are only held against limits: neither is negative, and a result that does not fit is the
// largest int64_t, which is beyond every limit.
int64_t saturating_add(int64_t a, int64_t b);
int64_t saturating_multiply(int64_t a, int64_t b);

}  // namespace rnnlab
