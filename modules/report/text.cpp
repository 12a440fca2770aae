#include "report/text.h"

#include <openssl/evp.h>

#include <algorithm>

#include "base/text.h"
#include "results/csv_line.h"

namespace rnnlab::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; }

// U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069 turn the direction of what stands behind them, our own words
// too.
bool turns_direction(std::string_view letter) {
  return letter == "\xE2\x80\x8E" || letter == "\xE2\x80\x8F" ||
         (letter >= "\xE2\x80\xAA" && letter <= "\xE2\x80\xAE") ||
         (letter >= "\xE2\x81\xA6" && letter <= "\xE2\x81\xA9");
}

std::string_view html_entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return "";
  }
}

// Quotes mean nothing outside tags.
std::string_view markdown_escape(char c) { return c == '"' || c == '\'' ? "" : html_entity(c); }

}  // namespace

std::string readable(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const size_t length = utf8_sequence_length(text);
    if (length == 0 || turns_direction(text.substr(0, length)))
      clean += kReplacement;
    else if (length == 1 && is_control(text[0]))
      clean += ' ';
    else
      clean += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return clean;
}

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : readable(text)) {
    const std::string_view entity = html_entity(c);
    escaped += entity.empty() ? std::string_view(&c, 1) : entity;
  }
  return escaped;
}

std::string markdown_escaped(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*|[]~";
  std::string escaped;
  for (const char c : readable(text)) {
    const std::string_view entity = markdown_escape(c);
    if (kMarkup.find(c) != std::string_view::npos) escaped += '\\';
    escaped += entity.empty() ? std::string_view(&c, 1) : entity;
  }
  return escaped;
}

std::string slug(std::string_view text) {
  constexpr size_t kLongest = 60;
  constexpr std::string_view kKept = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::string made;
  for (const char c : lower_case(text)) {
    if (kKept.find(c) != std::string_view::npos)
      made += c;
    else if (!made.empty() && made.back() != '_')
      made += '_';
  }
  made.resize(std::min(made.size(), kLongest));
  while (made.ends_with('_')) made.pop_back();
  return made.empty() ? "report" : made;
}

std::string csv_of(const TextTable& table) {
  std::vector<std::string> headings;
  for (const TableColumn& column : table.columns()) headings.push_back(column.heading);
  std::string text = csv_line(headings);
  for (const auto& row : table.rows()) text += csv_line(row);
  return text;
}

std::string base64(std::string_view bytes) {
  std::string encoded(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // and the 0 at its end
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  encoded.resize(static_cast<size_t>(length));
  return encoded;
}

}  // namespace rnnlab::report
