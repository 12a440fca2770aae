// Small text helpers shared by messages, tables and readers. Bytes are taken as they are; nothing here knows locales.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rnnlab {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // that some editors put before UTF-8

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string_view trim(std::string_view text);
std::string lower_case(std::string_view text);  // of ASCII letters
std::string first_line(std::string_view text);  // without its end
bool is_valid_utf8(std::string_view text);

// The length of the well-formed UTF-8 sequence that `text` begins with, or 0 where it begins with none or is empty.
size_t utf8_sequence_length(std::string_view text);

// The offset of the first byte that belongs to no well-formed UTF-8 sequence.
std::optional<size_t> first_invalid_utf8(std::string_view text);

// `text` in single quotes, control bytes and invalid UTF-8 as \xNN, cut to `max_bytes` with "...": safe to show
// whatever a file holds.
std::string in_quotes(std::string_view text, size_t max_bytes = 60);

// As one word of a shell's command line, in single quotes where it needs them.
std::string shell_quoted(const std::string& word);

// `text` with control bytes other than line ends and tabs as \xNN: a terminal shows it and obeys nothing in it.
std::string without_controls(std::string_view text);

// "x.csv" of "/data/x.csv" and of "data/x.csv/"; "~" of a home folder, because its name is its user's.
std::string last_name(std::string_view path);

// `text` with every absolute path cut to its last name, so that it tells nothing of folders and users. A path in quotes
// ends at the quote; any other one ends with the name behind the last slash of its clause, because folders may have
// spaces in their names. A relative path stays.
std::string without_folders(std::string_view text);

// "a", "a or b", "a, b or c".
std::string one_of(std::span<const std::string> choices);

// "a", "a and b", "a, b and c".
std::string each_of(std::span<const std::string> parts);

// Puts `item` (a text, a path) at the end of `list`, unless it is empty or stands there already.
template <class T>
void add_once(std::vector<T>& list, const std::type_identity_t<T>& item) {
  if (!item.empty() && std::ranges::find(list, item) == list.end()) list.push_back(item);
}

// The candidate nearest to `word` in edits (insert, delete, replace, swap of neighbours), or "" when none is near
// enough to be what was meant: at most one edit for each three letters, at least one.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// " (did you mean 'x'?)" or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

// `text` cut at spaces into lines of at most `width` columns; a longer word has a line of its own. At least one line.
std::vector<std::string> wrap(std::string_view text, size_t width);

// The columns that `utf8` takes on a terminal, one a code point. Wide and combining characters are not told apart.
size_t display_width(std::string_view utf8);

}  // namespace rnnlab
