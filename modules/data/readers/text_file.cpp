// SPDX-License-Identifier: Apache-2.0
#include "data/readers/text_file.h"

#include <array>

#include "base/error.h"
#include "base/text.h"
#include "data/readers/byte_stream.h"

namespace rnnlab {
namespace {

constexpr int64_t kLargestText = int64_t{2} << 30;

void require_utf8(std::string_view text, const std::string& name) {
  const std::optional<size_t> bad = first_invalid_utf8(text);
  if (!bad) return;
  throw_error(ExitCode::kData,
              "{}: byte {}: got {}, expected UTF-8: convert the file (iconv -t UTF-8), or read it as bytes", name, *bad,
              in_quotes(text.substr(*bad, 1)));
}

std::string read_checked(const std::filesystem::path& path, TextUnit unit) {
  std::string text = read_whole(path, kLargestText);
  if (text.empty()) throw_error(ExitCode::kData, "{}: empty file, expected text: check the path", path.string());
  if (unit == TextUnit::kCodePoint) require_utf8(text, path.string());
  return text;
}

// Returns the first unit of `text`, which is valid UTF-8 if units are code points.
std::string_view first_unit(std::string_view text, TextUnit unit) {
  return text.substr(0, unit == TextUnit::kByte ? 1 : utf8_sequence_length(text));
}

// Returns the code point of a well-formed UTF-8 sequence, or the value of a byte.
size_t unit_value(std::string_view bytes) {
  return bytes.size() == 1 ? static_cast<unsigned char>(bytes[0]) : code_point(bytes);
}

// Maps each value of a unit to a number. It allocates pages, because a short text may hold the last code point.
class UnitTable {
 public:
  static constexpr int64_t kNothing = -1;

  int64_t& operator[](size_t value) {
    std::vector<int64_t>& page = pages_[value / kPageSize];
    if (page.empty()) page.assign(kPageSize, kNothing);
    return page[value % kPageSize];
  }

  int64_t find(size_t value) const {
    const std::vector<int64_t>& page = pages_[value / kPageSize];
    return page.empty() ? kNothing : page[value % kPageSize];
  }

  // Calls take(number) for each stored number, in order of value.
  template <class Take>
  void for_each(Take take) const {
    for (const std::vector<int64_t>& page : pages_)
      for (const int64_t number : page)
        if (number != kNothing) take(number);
  }

 private:
  static constexpr size_t kPageSize = 1024;
  static constexpr size_t kNumCodePoints = 0x110000;
  std::array<std::vector<int64_t>, kNumCodePoints / kPageSize> pages_;
};

// Returns the vocabulary in order of value.
std::vector<std::string> vocabulary_of(std::string_view text, TextUnit unit) {
  UnitTable first_at;
  for (size_t at = 0; at < text.size();) {
    const std::string_view bytes = first_unit(text.substr(at), unit);
    int64_t& first = first_at[unit_value(bytes)];
    if (first == UnitTable::kNothing) first = static_cast<int64_t>(at);
    at += bytes.size();
  }
  std::vector<std::string> vocabulary;
  first_at.for_each(
      [&](int64_t at) { vocabulary.emplace_back(first_unit(text.substr(static_cast<size_t>(at)), unit)); });
  return vocabulary;
}

UnitTable tokens_by_value(const std::vector<std::string>& vocabulary, TextUnit unit) {
  UnitTable tokens;
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    RNNLAB_INVARIANT(!vocabulary[i].empty() && first_unit(vocabulary[i], unit).size() == vocabulary[i].size(),
                     "a vocabulary of other units");
    tokens[unit_value(vocabulary[i])] = static_cast<int64_t>(i);
  }
  return tokens;
}

std::vector<int64_t> encode(std::string_view text, const std::string& name, TextUnit unit,
                            const std::vector<std::string>& vocabulary) {
  const UnitTable by_value = tokens_by_value(vocabulary, unit);
  std::vector<int64_t> tokens;
  tokens.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const std::string_view bytes = first_unit(text.substr(at), unit);
    tokens.push_back(by_value.find(unit_value(bytes)));
    if (tokens.back() == UnitTable::kNothing)
      throw_error(ExitCode::kData,
                  "{}: byte {}: got {}, which the training text does not contain: remove it, or train on a text that "
                  "contains it",
                  name, at, in_quotes(bytes));
    at += bytes.size();
  }
  return tokens;
}

}  // namespace

Text read_text(const std::filesystem::path& path, TextUnit unit) {
  const std::string text = read_checked(path, unit);
  Text result;
  result.vocabulary = vocabulary_of(text, unit);
  if (result.vocabulary.size() < 2)
    throw_error(ExitCode::kData, "{}: the only character is {}, expected at least 2 different ones: use another text",
                path.string(), in_quotes(result.vocabulary[0]));
  result.tokens = encode(text, path.string(), unit, result.vocabulary);
  return result;
}

std::vector<int64_t> read_text_as(const std::filesystem::path& path, TextUnit unit,
                                  const std::vector<std::string>& vocabulary) {
  return encode(read_checked(path, unit), path.string(), unit, vocabulary);
}

}  // namespace rnnlab
