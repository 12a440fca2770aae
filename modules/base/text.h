// SPDX-License-Identifier: Apache-2.0
// Small text functions for messages, tables and readers. Text is bytes; the functions do not depend on the locale.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rnnlab {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some editors write it before UTF-8

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string_view trim(std::string_view text);
std::string lower_case(std::string_view text);  // of ASCII letters
std::string first_line(std::string_view text);  // without the end of the line
bool is_valid_utf8(std::string_view text);

// Returns the length of the well-formed UTF-8 sequence at the beginning of `text`; 0 if there is none.
size_t utf8_sequence_length(std::string_view text);

// Returns the offset of the first byte that does not belong to a well-formed UTF-8 sequence; nullopt if all bytes do.
std::optional<size_t> first_invalid_utf8(std::string_view text);

// Returns the code point of a well-formed UTF-8 sequence.
char32_t code_point(std::string_view sequence);

// Returns utf8_sequence_length, but 0 if `text` begins with a character that a terminal or a page may obey: a control
// character (C0, DEL, C1), a mark that changes the direction of the text after it (such as U+202E), or a line or
// paragraph separator (U+2028, U+2029). All functions below use the same table of these characters.
size_t shown_sequence_length(std::string_view text);

// Returns `text` in single quotes, cut to `max_bytes` with "...". Bytes not shown (shown_sequence_length) become \xNN.
std::string in_quotes(std::string_view text, size_t max_bytes = 60);

// Returns `text` with \xNN for the bytes that are not shown, except line ends and tabs: safe text for a terminal.
std::string without_controls(std::string_view text);

// Returns `text` with \xNN for the bytes that are not shown, line ends and tabs included: for names within a line.
std::string on_one_line(std::string_view text);

// Returns without_controls(text) for messages and log lines, with lines cut to 4,096 bytes. A cut line ends with the
// number of missing bytes. The limit is needed because texts from a file may be arbitrarily long.
std::string for_display(std::string_view text);

// Returns `word` as one word of a shell's command line, in single quotes if it needs them. A word that a terminal
// cannot show is written as $'...' (ANSI-C quoting of bash, zsh and ksh), which is safe to show.
std::string shell_quoted(const std::string& word);

// Returns the words of a command line, each quoted by shell_quoted.
std::string command_text(const std::vector<std::string>& words);

// Returns "x.csv" for "/data/x.csv" and for "data/x.csv/"; "~" for a home folder, because its name is the user's name.
std::string last_name(std::string_view path);

// Returns `text` with every absolute path cut to its last name, so that folders and users are not disclosed. A path in
// quotes ends at the quote. A path without quotes ends with the name after the last slash of its clause, because names
// of folders may contain spaces. Relative paths are unchanged.
std::string without_folders(std::string_view text);

// Returns "a", "a or b" or "a, b or c".
std::string join_with_or(std::span<const std::string> choices);

// Returns "a", "a and b" or "a, b and c".
std::string join_with_and(std::span<const std::string> parts);

// Appends `item` (a text, a path) to `list`, unless `item` is empty or `list` already contains it.
template <class T>
void add_once(std::vector<T>& list, const std::type_identity_t<T>& item) {
  if (!item.empty() && std::ranges::find(list, item) == list.end()) list.push_back(item);
}

// Returns the candidate with the fewest edits to `word` (insert, delete, replace, swap of neighbours), or "" if every
// candidate needs more than one edit for each three letters (at least one edit is allowed, and at most five are).
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// Returns " (did you mean 'x'?)" with the nearest candidate, or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

// Returns `text` cut at spaces into at least one line of at most `width` columns. A longer word has its own line.
std::vector<std::string> wrap(std::string_view text, size_t width);

// Returns the columns that `utf8` takes on a terminal: one a code point. Wide and combining characters count as one.
size_t display_width(std::string_view utf8);

}  // namespace rnnlab
