#include "data/readers/text_file.h"

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

// The first unit of `text`, which is valid UTF-8 where units are code points.
std::string_view first_unit(std::string_view text, TextUnit unit) {
  return text.substr(0, unit == TextUnit::kByte ? 1 : utf8_sequence_length(text));
}

// The code point of a well-formed UTF-8 sequence, or the value of a byte.
size_t unit_value(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (bytes.size() == 1) return lead;
  size_t value = lead & (0x7Fu >> bytes.size());
  for (const char byte : bytes.substr(1)) value = value << 6 | (static_cast<unsigned char>(byte) & 0x3F);
  return value;
}

// In order of value. Remembers for each value where it first stands, in a table no longer than the largest value.
std::vector<std::string> vocabulary_of(std::string_view text, TextUnit unit) {
  constexpr size_t kNowhere = std::string_view::npos;
  std::vector<size_t> first_at;
  for (size_t at = 0; at < text.size();) {
    const std::string_view bytes = first_unit(text.substr(at), unit);
    const size_t value = unit_value(bytes);
    if (value >= first_at.size()) first_at.resize(value + 1, kNowhere);
    if (first_at[value] == kNowhere) first_at[value] = at;
    at += bytes.size();
  }
  std::vector<std::string> vocabulary;
  for (const size_t at : first_at)
    if (at != kNowhere) vocabulary.emplace_back(first_unit(text.substr(at), unit));
  return vocabulary;
}

constexpr int64_t kUnknown = -1;

std::vector<int64_t> tokens_by_value(const std::vector<std::string>& vocabulary, TextUnit unit) {
  std::vector<int64_t> tokens;
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    RNNLAB_INVARIANT(!vocabulary[i].empty() && first_unit(vocabulary[i], unit).size() == vocabulary[i].size(),
                     "a vocabulary of other units");
    const size_t value = unit_value(vocabulary[i]);
    if (value >= tokens.size()) tokens.resize(value + 1, kUnknown);
    tokens[value] = static_cast<int64_t>(i);
  }
  return tokens;
}

std::vector<int64_t> encode(std::string_view text, const std::string& name, TextUnit unit,
                            const std::vector<std::string>& vocabulary) {
  const std::vector<int64_t> by_value = tokens_by_value(vocabulary, unit);
  std::vector<int64_t> tokens;
  tokens.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const std::string_view bytes = first_unit(text.substr(at), unit);
    const size_t value = unit_value(bytes);
    tokens.push_back(value < by_value.size() ? by_value[value] : kUnknown);
    if (tokens.back() == kUnknown)
      throw_error(ExitCode::kData,
                  "{}: byte {}: got {}, which the training text never has: remove it, or train on a text that has it",
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
