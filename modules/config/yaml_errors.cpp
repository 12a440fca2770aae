// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_errors.h"

#include <fmt/format.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace rnnlab::config {

namespace {

constexpr const char* kTabInIndentation = "a tab in the indentation; use spaces";

// The messages of yaml-cpp are terse; this table explains the common ones.
std::string explain(const std::string& message) {
  constexpr std::pair<std::string_view, const char*> kExplanations[] = {
      {"illegal map value", "':' is not allowed here; check the indentation, or put quotes around the text"},
      {"illegal block entry", "a list of '- ' items must begin on a new line"},
      {"end of map not found", "the indentation of this line matches no line above it"},
      {"end of sequence not found", "the indentation of this line matches no line above it"},
      {"end of map flow not found", "this '{' has no matching '}', or lacks a ',' between its members"},
      {"end of sequence flow not found", "this '[' has no matching ']', or lacks a ',' between its items"},
      {"illegal flow end", "this closing bracket was never opened"},
      {"illegal tab when looking for indentation", kTabInIndentation},
      {"unknown token", "a value cannot begin with this character; put quotes around it"},
      {"the referenced anchor is not defined", kNoAliases},
  };
  for (const auto& [terse, explanation] : kExplanations)
    if (message.starts_with(terse)) return explanation;
  return "not valid YAML: " + message;
}

// Returns the text from the line of `mark` on.
std::string_view from_line(std::string_view text, const YAML::Mark& mark) {
  for (int line = mark.line; line > 0 && text.find('\n') != std::string_view::npos; --line)
    text.remove_prefix(text.find('\n') + 1);
  return text;
}

std::string_view line_at(std::string_view text, const YAML::Mark& mark) {
  const std::string_view rest = from_line(text, mark);
  return rest.substr(0, rest.find('\n'));
}

size_t column_of(const YAML::Mark& mark) { return static_cast<size_t>(std::max(mark.column, 0)); }

// Returns the text before `mark` on its line.
std::string_view text_before(std::string_view text, const YAML::Mark& mark) {
  return from_line(text, mark).substr(0, column_of(mark));
}

// A second "key:" in one line is usually a map without its braces. Returns "" if the line does not have this form.
std::string message_of_second_colon(std::string_view line) {
  constexpr size_t kMostShown = 80;
  const size_t colon = line.find(": ");
  const bool has_second = colon != std::string_view::npos && line.find(": ", colon + 2) != std::string_view::npos;
  if (!has_second || line.size() > kMostShown || line.find_first_of("#'\"{}[]&*!") != std::string_view::npos) return "";
  return fmt::format(
      "a second ':' in one line; write {0}: {{{1}}} if these are keys of {0}, or put quotes around a text",
      line.substr(0, colon), trim(line.substr(colon + 2)));
}

// Returns whether a text without quotes cannot begin like this. Some characters are refused only if they are alone: '-'
// may begin a number, and '*' a name that has a message of its own.
bool needs_quotes(std::string_view value) {
  constexpr std::string_view kNeverFirst = ",%@`}]", kNeverAlone = "-?:&*";
  return kNeverFirst.find(value.front()) != std::string_view::npos ||
         (value.size() == 1 && kNeverAlone.find(value.front()) != std::string_view::npos);
}

// "decimal: ," lacks quotes around its value. Returns "" if the line does not have this form, or if the error is not at
// the value's first character or after it.
std::string message_of_lacking_quotes(std::string_view line, size_t column) {
  const size_t colon = line.find(": ");
  const size_t begin = colon == std::string_view::npos ? colon : line.find_first_not_of(" \t", colon + 1);
  if (begin == std::string_view::npos || (column != begin && column != begin + 1)) return "";
  const std::string_view value = trim(line.substr(begin, line.find(" #", begin) - begin));
  if (value.empty() || !needs_quotes(value) || value.find_first_of("\"\\") != std::string_view::npos) return "";
  return fmt::format("a value cannot begin with '{}'; put quotes around it: {}: \"{}\"", value.front(),
                     trim(line.substr(0, colon)), value);
}

}  // namespace

std::string message_of_yaml_error(const YAML::Exception& error, std::string_view text) {
  const std::string_view line = line_at(text, error.mark);
  const std::string_view before = text_before(text, error.mark);
  const std::string_view indentation = before.substr(0, before.find_first_not_of(" \t"));
  const auto is_about = [&](std::string_view message) { return error.msg.starts_with(message); };
  if ((is_about("illegal map value") || is_about("illegal block entry") || is_about("end of map not found")) &&
      indentation.find('\t') != std::string_view::npos)
    return kTabInIndentation;
  std::string of_quotes = message_of_lacking_quotes(line, column_of(error.mark));
  if (!of_quotes.empty()) return of_quotes;
  std::string of_second = is_about("illegal map value") ? message_of_second_colon(trim(line)) : "";
  if (!of_second.empty()) return of_second;
  if (is_about("end of map not found") && indentation != before) return "unexpected text after the value";
  return explain(error.msg);
}

}  // namespace rnnlab::config
