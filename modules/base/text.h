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

// The number of a well-formed UTF-8 sequence.
char32_t code_point(std::string_view sequence);

// utf8_sequence_length, but 0 also where `text` begins with a character that a terminal or a page may obey: a control
// character (C0, DEL, C1), a mark that changes the direction of the text behind it (as U+202E does), or a line or
// paragraph separator (U+2028, U+2029). All functions below use this one table.
size_t shown_sequence_length(std::string_view text);

// `text` in single quotes, cut to `max_bytes` with "...". Bytes that are not shown (shown_sequence_length) become \xNN.
std::string in_quotes(std::string_view text, size_t max_bytes = 60);

// `text` with the bytes that are not shown as \xNN; line ends and tabs stay. Safe to print on a terminal.
std::string without_controls(std::string_view text);

// The same, with line ends and tabs as \xNN too: for names within a line.
std::string on_one_line(std::string_view text);

// without_controls for messages and log lines: a line of more than 4,096 bytes is cut, and the message says so. The
// texts that a file may put into a message have no other bound.
std::string for_people(std::string_view text);

// As one word of a shell's command line, in single quotes where it needs them. A word that a terminal cannot show is
// written as $'...' (ANSI-C quoting of bash, zsh and ksh), which names the same bytes and is safe to show.
std::string shell_quoted(const std::string& word);

// The words of a command line, each shell_quoted.
std::string command_text(const std::vector<std::string>& words);

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
