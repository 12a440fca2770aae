// SPDX-License-Identifier: Apache-2.0
#include "base/config/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab::config {

std::string to_string(const Place& place) {
  if (place.line == 0) return place.source;
  return fmt::format("{}:{}:{}", place.source, place.line, place.column);
}

bool Findings::Finding::operator<(const Finding& other) const {
  const auto rank = [](const Finding& f) {
    return std::tie(f.place.argument, f.place.line, f.place.column, f.place.source, f.message);
  };
  return rank(*this) < rank(other);
}

void Findings::add(const Place& place, const std::string& message) { findings_.insert({place, message}); }

std::vector<std::string> Findings::lines_of(const std::set<Finding>& findings) {
  std::vector<std::string> lines;
  for (const Finding& finding : findings)
    lines.push_back(on_one_line(to_string(finding.place) + ": " + finding.message));
  return lines;
}

std::vector<std::string> Findings::throw_if_any() const {
  if (empty()) return lines_of(notes_);
  constexpr size_t kMaxShown = 100;
  std::vector<std::string> shown = lines();
  if (shown.size() > kMaxShown) {
    const size_t num_left_out = shown.size() - kMaxShown;
    shown.resize(kMaxShown);
    shown.push_back(fmt::format("and {} more", num_left_out));
  }
  throw UserError(ExitCode::kUsage, join(shown, "\n"));
}

namespace {

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool is_harmless(char c) { return is_alphanumeric(c) || c == '_' || c == '.' || c == '/' || c == '-' || c == '+'; }

// A colon is plain text only inside a word: "cuda:1".
bool is_inner_colon(std::string_view text, size_t at) {
  return text[at] == ':' && at > 0 && at + 1 < text.size() && is_alphanumeric(text[at - 1]) &&
         is_alphanumeric(text[at + 1]);
}

// Readers of YAML 1.1 accept numbers such as 1_000 and 12:30, and dates, so every text that begins like a number may be
// read as a number.
bool begins_like_a_number(std::string_view text) {
  if (text[0] == '-' || text[0] == '.') text.remove_prefix(1);
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0;
}

bool means_something_else(std::string_view text) {
  constexpr std::array<std::string_view, 11> kWords = {"null", "true", "false", "yes",  "no",  "on",
                                                       "off",  "y",    "n",     ".nan", ".inf"};
  return begins_like_a_number(text) || std::ranges::find(kWords, lower_case(text)) != kWords.end();
}

// Returns the length of a character beyond ASCII that YAML or a terminal would not show unchanged, or 0.
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

const Member* find_member(const Value& value, std::string_view key) {
  const auto found =
      std::find_if(value.members.begin(), value.members.end(), [&](const Member& m) { return m.key == key; });
  return found == value.members.end() ? nullptr : &*found;
}

Member* find_member(Value& value, std::string_view key) {
  return const_cast<Member*>(find_member(std::as_const(value), key));
}

const Member* find_path(const Value& root, std::string_view dotted_key) {
  const Value* value = &root;
  const Member* member = nullptr;
  for (const std::string& part : split(dotted_key, '.')) {
    member = find_member(*value, part);
    if (!member) return nullptr;
    value = &member->value;
  }
  return member;
}

bool is_key_below(std::string_view key, std::string_view group) {
  return key.size() > group.size() && key.starts_with(group) && key[group.size()] == '.';
}

std::string shown(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "nothing";
    case Value::Kind::kSequence:
      return value.items.empty() ? "an empty list" : "a list";
    case Value::Kind::kMap:
      return "a map";
    case Value::Kind::kScalar:
      break;
  }
  return (value.style == Value::Style::kQuoted ? "the text " : "") + in_quotes(value.text);
}

namespace {

std::string join_members(const std::vector<Member>& members) {
  std::vector<std::string> parts;
  for (const Member& member : members) parts.push_back(yaml_text(member.key) + ": " + to_flow(member.value));
  return join(parts, ", ");
}

}  // namespace

std::string flow_items(const std::vector<Value>& items) {
  std::vector<std::string> parts;
  for (const Value& item : items) parts.push_back(to_flow(item));
  return join(parts, ", ");
}

std::string to_flow(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kSequence:
      return "[" + flow_items(value.items) + "]";
    case Value::Kind::kMap:
      return "{" + join_members(value.members) + "}";
    case Value::Kind::kScalar:
      break;
  }
  const bool keeps_style = value.style == Value::Style::kPlain && is_plain_safe(value.text);
  return keeps_style ? value.text : double_quoted(value.text);
}

size_t count_values(const Value& value) {
  size_t count = 1;
  for (const Value& item : value.items) count += count_values(item);
  for (const Member& member : value.members) count += count_values(member.value);
  return count;
}

}  // namespace rnnlab::config
