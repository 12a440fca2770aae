// SPDX-License-Identifier: Apache-2.0
#include "runs/report/text.h"

#include <openssl/evp.h>

#include <algorithm>

#include "base/system/terminal.h"
#include "base/text.h"

namespace rnnlab::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; }

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

// Quotes have no meaning outside of tags.
std::string_view markdown_entity(char c) { return c == '"' || c == '\'' ? "" : html_entity(c); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_word_at(std::string_view text, size_t i) {
  if (i >= text.size()) return false;
  const char c = text[i];
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

// Checks '.' and ')': "1. " and "1) " begin a list, and "www." begins a link.
bool ends_a_mark(std::string_view before, std::string_view after) {
  const bool ends_a_word = after.empty() || after[0] == ' ';
  return !before.empty() && ((ends_a_word && std::ranges::all_of(before, is_digit)) || before.ends_with("www"));
}

bool is_markup(std::string_view text, size_t i) {
  constexpr std::string_view kAlways = "\\`*|[]~$", kAtTheBeginning = "#+-";
  const std::string_view before = text.substr(0, i), after = text.substr(i + 1);
  switch (text[i]) {
    case '_':  // An underscore within a word, as in num_layers, is not emphasis.
      return before.empty() || !is_word_at(text, i - 1) || !is_word_at(text, i + 1);
    case ':':
      return after.starts_with("//");
    case '.':
    case ')':
      return ends_a_mark(before, after);
    default:
      return kAlways.find(text[i]) != std::string_view::npos ||
             (before.empty() && kAtTheBeginning.find(text[i]) != std::string_view::npos);
  }
}

}  // namespace

std::string readable(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const size_t length = utf8_sequence_length(text);
    if (length == 1 && is_control(text[0]))
      clean += ' ';
    else if (shown_sequence_length(text) == 0)
      clean += kReplacement;
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
  const std::string whole = readable(text);
  std::string escaped;
  for (size_t i = 0; i < whole.size(); ++i) {
    const char c = whole[i];
    const std::string_view entity = markdown_entity(c);
    if (is_markup(whole, i)) escaped += '\\';
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

std::string base64(std::string_view bytes) {
  std::string encoded(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // with the 0 at its end
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  encoded.resize(static_cast<size_t>(length));
  return encoded;
}

}  // namespace rnnlab::report
