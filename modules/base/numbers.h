// SPDX-License-Identifier: Apache-2.0
// Converts numbers to text and back, independent of the locale. Parsing is strict: the whole text must be the number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rnnlab {

// Parses a decimal integer with an optional sign ("42", "-7", "+3"). Returns nullopt on overflow and for hexadecimal
// digits, separators, spaces and leading zeros: "010" is refused, because some readers take it for octal.
std::optional<int64_t> parse_int64(std::string_view text);
std::optional<int64_t> parse_int64(std::string_view text, int64_t least, int64_t most);  // nullopt outside the limits

// Parses a decimal floating-point number, such as "1e3" and "-.5". Returns nullopt for "nan", "inf" and on overflow.
std::optional<double> parse_double(std::string_view text);

// Returns parse_double's number, or NaN if there is none. It takes less time, which counts for millions of numbers.
double parse_double_or_nan(std::string_view text);

// Returns the shortest text that parse_double reads back as the same value.
std::string format_shortest(double value);

// Returns a text such as "1.50 GiB" or "312 B".
std::string format_bytes(int64_t bytes);

// Returns three significant digits with the unit that fits: "1.23 s", "45.6 ms", "7.89 us". Whole seconds have all
// their digits: "1234 s".
std::string format_seconds(double seconds);

// Returns format_seconds(seconds) below a minute, then a text such as "3 min 20 s", and "2 h 5 min" from an hour on.
std::string format_duration(double seconds);

// Returns a text such as "1,234,567".
std::string format_count(int64_t count);

// Returns a text such as "1 token", "1,234 tokens" or "2 classes". `noun` is a singular with a regular plural.
std::string counted(int64_t count, std::string_view noun);

// Returns the number of decimals that shows `digits` significant digits of a finite number: 2 for 1.5 and three digits,
// 0 for 1500. Returns digits - 1 for zero.
int decimals_for(double value, int digits);

// Returns `digits` significant digits without an exponent: "0.000123", "1.50", "12345" (an integer keeps all digits).
// Returns "nan" without a sign.
std::string format_significant(double value, int digits);

// Formats `value` with fmt's `format` ("{:.4f}") if the text has at most `width` columns, else as "1.234e+30".
std::string format_within(size_t width, std::string_view format, double value);

// Returns a * b, or nullopt on overflow.
std::optional<int64_t> checked_multiply(int64_t a, int64_t b);

// Add and multiply sizes for comparisons with limits. `a` and `b` must not be negative. On overflow the result is the
// largest int64_t, which exceeds every limit.
int64_t saturating_add(int64_t a, int64_t b);
int64_t saturating_multiply(int64_t a, int64_t b);

}  // namespace rnnlab
