#include "config/yaml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace rnnlab::config {

namespace {

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool is_harmless(char c) { return is_alphanumeric(c) || c == '_' || c == '.' || c == '/' || c == '-' || c == '+'; }

// A colon is text only inside a word: "cuda:1".
bool is_inner_colon(std::string_view text, size_t at) {
  return text[at] == ':' && at > 0 && at + 1 < text.size() && is_alphanumeric(text[at - 1]) &&
         is_alphanumeric(text[at + 1]);
}

// Readers of YAML 1.1 know numbers such as 1_000 and 12:30, and dates: whatever begins like a number may be one.
bool begins_like_a_number(std::string_view text) {
  if (text[0] == '-' || text[0] == '.') text.remove_prefix(1);
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0;
}

bool means_something_else(std::string_view text) {
  constexpr std::array<std::string_view, 11> kWords = {"null", "true", "false", "yes",  "no",  "on",
                                                       "off",  "y",    "n",     ".nan", ".inf"};
  return begins_like_a_number(text) || std::ranges::find(kWords, lower_case(text)) != kWords.end();
}

// The length of a character beyond ASCII that YAML or a terminal would not show as it is, or 0.
size_t unprintable_length(std::string_view rest) {
  if (rest.starts_with(kByteOrderMark)) return kByteOrderMark.size();
  const size_t length = utf8_sequence_length(rest);
  return length > 1 && shown_sequence_length(rest) == 0 ? length : 0;
}

std::string escaped_unprintable(std::string_view sequence) {
  const auto number = static_cast<uint32_t>(code_point(sequence));
  return number < 0x100 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
}

std::string escaped_ascii(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
}

}  // namespace

bool is_plain_safe(std::string_view text) {
  if (text.empty() || !is_harmless(text[0]) || text[0] == '+') return false;
  if (text[0] == '-' && (text.size() == 1 || !is_alphanumeric(text[1]))) return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (!is_harmless(text[i]) && !is_inner_colon(text, i)) return false;
  return true;
}

std::string double_quoted(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const size_t unprintable = unprintable_length(text);
    result += unprintable > 0 ? escaped_unprintable(text.substr(0, unprintable)) : escaped_ascii(text[0]);
    text.remove_prefix(std::max<size_t>(unprintable, 1));
  }
  return result + "\"";
}

std::string yaml_text(std::string_view text) {
  return is_plain_safe(text) && !means_something_else(text) ? std::string(text) : double_quoted(text);
}

}  // namespace rnnlab::config
