// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <fmt/format.h>

#include <cstring>

namespace rnnlab {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator, begin)) {
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

// The valid byte sequences are those of Unicode 15, table 3-7.
size_t utf8_sequence_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  return length;
}

namespace {

// Returns the number of whole words of ASCII characters at the beginning, in bytes. Most files have no others.
size_t ascii_prefix(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  size_t at = 0;
  for (uint64_t word = 0; at + sizeof(word) <= text.size(); at += sizeof(word)) {
    std::memcpy(&word, text.data() + at, sizeof(word));
    if ((word & kHighBits) != 0) break;
  }
  return at;
}

}  // namespace

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  for (size_t at = ascii_prefix(text); at < text.size(); at += ascii_prefix(text.substr(at))) {
    const size_t length = utf8_sequence_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

bool is_valid_utf8(std::string_view text) { return !first_invalid_utf8(text); }

namespace {

struct CodePoints {
  char32_t first, last;
};

// Control characters, marks that change the direction of the text after them, and the line and paragraph separators.
constexpr CodePoints kNotShown[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C},
                                    {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}};

std::string bytes_in_hex(std::string_view bytes) {
  std::string shown;
  for (const char c : bytes) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return shown;
}

// Removes the first character from `text`, which is not empty, and returns it as messages show it.
std::string take_shown(std::string_view& text) {
  const size_t shown_length = shown_sequence_length(text);
  const std::string_view first = text.substr(0, std::max<size_t>(utf8_sequence_length(text), 1));
  text.remove_prefix(first.size());
  return shown_length > 0 ? std::string(first) : bytes_in_hex(first);
}

bool begins_with_space(std::string_view text) { return text.starts_with('\n') || text.starts_with('\t'); }

}  // namespace

char32_t code_point(std::string_view sequence) {
  constexpr unsigned char kLeadBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};  // by the length of the sequence
  char32_t value = static_cast<unsigned char>(sequence[0]) & kLeadBits[sequence.size()];
  for (const char c : sequence.substr(1)) value = value << 6 | (static_cast<unsigned char>(c) & 0x3F);
  return value;
}

size_t shown_sequence_length(std::string_view text) {
  const size_t length = utf8_sequence_length(text);
  if (length == 0) return 0;
  const char32_t first = code_point(text.substr(0, length));
  const auto has = [first](const CodePoints& range) { return range.first <= first && first <= range.last; };
  return std::ranges::any_of(kNotShown, has) ? 0 : length;
}

std::string in_quotes(std::string_view text, size_t max_bytes) {
  std::string shown = "'";
  while (!text.empty()) {
    if (shown.size() > max_bytes) return shown + "...'";
    shown += take_shown(text);
  }
  return shown + "'";
}

std::string without_controls(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    if (begins_with_space(text)) {
      shown += text[0];
      text.remove_prefix(1);
    } else {
      shown += take_shown(text);
    }
  }
  return shown;
}

std::string on_one_line(std::string_view text) {
  std::string shown;
  while (!text.empty()) shown += take_shown(text);
  return shown;
}

std::string for_display(std::string_view text) {
  constexpr size_t kLongestLine = 4096;
  std::vector<std::string> lines = split(without_controls(text), '\n');
  for (std::string& line : lines) {
    if (line.size() <= kLongestLine) continue;
    size_t end = kLongestLine;
    while (end > 0 && (line[end] & 0xC0) == 0x80) --end;  // The cut must not split a character.
    line = fmt::format("{}... ({} more bytes)", line.substr(0, end), line.size() - end);
  }
  return join(lines, "\n");
}

namespace {

std::string listed(std::span<const std::string> parts, std::string_view before_last) {
  if (parts.size() < 2) return join(parts, "");
  return fmt::format("{}{}{}", join(parts.first(parts.size() - 1), ", "), before_last, parts.back());
}

// Returns the distance of optimal string alignment: Levenshtein's distance with swaps of neighbours.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

// The digits are octal, because shells differ in how many hexadecimal digits they read.
std::string ansi_c_quoted(std::string_view word) {
  std::string quoted = "$'";
  while (!word.empty()) {
    const size_t length = shown_sequence_length(word);
    const bool is_plain = length > 0 && word[0] != '\'' && word[0] != '\\';
    quoted +=
        is_plain ? std::string(word.substr(0, length)) : fmt::format("\\{:03o}", static_cast<unsigned char>(word[0]));
    word.remove_prefix(std::max<size_t>(length, 1));
  }
  return quoted + "'";
}

}  // namespace

std::string shell_quoted(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_-./:=@%+,").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  if (without_controls(word) != word) return ansi_c_quoted(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string command_text(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(shell_quoted(word));
  return join(quoted, " ");
}

std::string last_name(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash + 1);
  const std::string_view folder = path.substr(0, std::min(slash, path.size()));
  const bool is_home = path == "/root" || folder == "/home" || folder == "/Users";
  return is_home ? "~" : std::string(name);
}

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr std::string_view kFileScheme = "file:";

// Returns whether an absolute path begins at `at`. A slash within a relative path, a quotient or a URL does not begin
// one, except in a URL with the scheme file:.
bool begins_path(std::string_view text, size_t at) {
  if (text[at] != '/') return false;
  const char before = at == 0 ? ' ' : text[at - 1];
  const bool may_begin = is_space(before) || std::string_view("'\"([{<=,;|`:").find(before) != std::string_view::npos;
  const size_t name = text.find_first_not_of('/', at);
  if (!may_begin || name == std::string_view::npos || is_space(text[name])) return false;
  if (text.substr(0, at).ends_with(kFileScheme)) return true;
  return before != ':' || name == at + 1;
}

// Returns whether the mark at `at` ends a word. Names of folders may contain marks, but seldom at the end of a word.
bool ends_word(std::string_view text, size_t at) {
  const char next = at + 1 < text.size() ? text[at + 1] : ' ';
  if (text[at] == ':' && next >= '0' && next <= '9') return true;  // FILE:LINE
  return is_space(next) || std::string_view("'\".,:;)]}>|`").find(next) != std::string_view::npos;
}

// Returns the position of the first of these marks that ends a word, or the end of the text.
size_t find_end(std::string_view text, std::string_view marks, size_t from) {
  for (size_t i = from; i < text.size(); ++i)
    if (marks.find(text[i]) != std::string_view::npos && ends_word(text, i)) return i;
  return text.size();
}

// Returns the length of the absolute path that `text` begins with.
size_t path_length(std::string_view text) {
  const size_t end_of_line = std::min(text.find('\n'), text.size());
  const std::string_view clause = text.substr(0, find_end(text.substr(0, end_of_line), "'\",:;)]}>|`", 0));
  size_t last_slash = 0;
  for (size_t i = 1; i < clause.size(); ++i) {
    const bool begins_another =
        clause[i] == '/' && (is_space(clause[i - 1]) || clause.substr(0, i).ends_with(kFileScheme));
    if (begins_another) break;
    if (clause[i] == '/') last_slash = i;
  }
  size_t end = last_slash;
  while (end < clause.size() && !is_space(clause[end])) ++end;
  return end;
}

}  // namespace

std::string without_folders(std::string_view text) {
  std::string kept;
  for (size_t i = 0; i < text.size();) {
    if (!begins_path(text, i)) {
      kept += text[i++];
      continue;
    }
    const char before = i == 0 ? ' ' : text[i - 1];
    const bool is_quoted = before == '\'' || before == '"';
    const size_t length = is_quoted ? find_end(text, std::string_view(&before, 1), i) - i : path_length(text.substr(i));
    kept += last_name(text.substr(i, length));
    i += length;
  }
  return kept;
}

std::string join_with_or(std::span<const std::string> choices) { return listed(choices, " or "); }

std::string join_with_and(std::span<const std::string> parts) { return listed(parts, " and "); }

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr size_t kLongestWord = 64;
  if (word.size() > kLongestWord) return "";
  const auto has_other_case = [&](const std::string& candidate) {
    return candidate.size() == word.size() && lower_case(candidate) == lower_case(word);
  };
  if (const auto found = std::ranges::find_if(candidates, has_other_case); found != candidates.end()) return *found;
  if (word.size() < 2) return "";  // every other letter would be one edit away
  std::string best;
  constexpr size_t kMostEdits = 5;  // of a long word too
  size_t best_distance = std::clamp<size_t>(word.size() / 3, 1, kMostEdits) + 1;
  for (const std::string& candidate : candidates) {
    const size_t longer = std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size());
    if (longer >= best_distance) continue;  // A candidate may be megabytes long, so edit_distance is avoided.
    const size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? "" : fmt::format(" (did you mean {}?)", in_quotes(best, 4 * best.size() + 1));
}

std::vector<std::string> wrap(std::string_view text, size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string& word : split(text, ' ')) {
    const bool fits = lines.back().empty() || display_width(lines.back()) + 1 + display_width(word) <= width;
    if (!fits) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

size_t display_width(std::string_view utf8) {
  return static_cast<size_t>(std::ranges::count_if(utf8, [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace rnnlab
