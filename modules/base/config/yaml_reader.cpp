// SPDX-License-Identifier: Apache-2.0
// Reads the YAML of a document, and explains in the words of the file what is wrong with it.
#include "base/config/document.h"

#include <fmt/format.h>
#include <unistd.h>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <ranges>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_handles.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/regular_file.h"
#include "base/text.h"

namespace rnnlab::config {

namespace {

// ---- messages for texts that are not valid YAML ----

constexpr const char* kNoAliases =
    "aliases (*name) are not supported; write the value out, or put quotes around the text";
constexpr const char* kTabInIndentation = "a tab in the indentation; use spaces";

// The messages of yaml-cpp are terse; this table explains the common ones in the words of the file.
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

// Returns the message for an error that yaml-cpp found in `text`.
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

// ---- the file ----

namespace fs = std::filesystem;

// Returns a suggestion such as " (did you mean 'experiments/mnist.yaml'?)", or "".
std::string similar_file(const fs::path& path) {
  const std::string meant = nearest(path.filename().string(), sibling_names(path));
  return meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", (path.parent_path() / meant).string());
}

std::string complaint_about_file(const std::string& path, const RegularFile& file) {
  const int error = file.error_number();
  if (error == ENOENT || error == ENOTDIR) return "no such file" + similar_file(path);
  if (error == EACCES || is_limit_on_handles(error)) return fmt::format("cannot be read ({})", reason_of(error));
  if (error != 0) return reason_of(error);
  if (S_ISDIR(file.status().st_mode)) return "a folder, expected a YAML file";
  if (!file.is_open()) return "a pipe or device, expected a regular YAML file";
  if (static_cast<uintmax_t>(file.status().st_size) > kMaxFileBytes)
    return fmt::format("{}, expected at most {}; is this a configuration file?", counted(file.status().st_size, "byte"),
                       format_count(kMaxFileBytes));
  return "";
}

// Appends what the file holds; returns the number of the system's error, or 0. The text is longer than kMaxFileBytes if
// the file is, as one of the system can be that has no size.
int read_up_to_limit(const RegularFile& file, std::string& text) {
  std::array<char, 8192> piece;
  while (text.size() <= kMaxFileBytes) {
    const ssize_t got = ::read(file.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return 0;
    text.append(piece.data(), static_cast<size_t>(got));
  }
  return 0;
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
}

// yaml-cpp ignores a lone CR and joins the lines around it.
std::optional<size_t> first_control(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_lone_return = text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n');
    if (is_control(text[i]) || is_lone_return) return i;
  }
  return std::nullopt;
}

bool looks_like_utf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
         (text.size() > 1 && (text[0] == 0 || text[1] == 0));
}

}  // namespace

std::optional<std::string> read_source(const std::string& path, Findings& findings) {
  const RegularFile file(path);
  std::string complaint = complaint_about_file(path, file);
  if (complaint.empty()) {
    std::string text;
    const int error = read_up_to_limit(file, text);
    if (error == 0 && text.size() <= kMaxFileBytes) return text;
    complaint = error != 0 ? fmt::format("cannot be read ({})", reason_of(error))
                           : fmt::format("more than {}, expected at most that; is this a configuration file?",
                                         counted(static_cast<int64_t>(kMaxFileBytes), "byte"));
  }
  findings.add({.source = path}, complaint);
  return std::nullopt;
}

LineMap::LineMap(std::string_view text, std::string source) : source_(std::move(source)), line_starts_{0} {
  code_points_before_.reserve(text.size() + 1);
  uint32_t num_code_points = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    code_points_before_.push_back(num_code_points);
    if (!is_continuation(text[i])) ++num_code_points;
    if (text[i] == '\n') line_starts_.push_back(i + 1);
  }
  code_points_before_.push_back(num_code_points);
}

Place LineMap::place_at(size_t offset) const {
  const size_t at = std::min(offset, code_points_before_.size() - 1);
  const auto next_line = std::upper_bound(line_starts_.begin(), line_starts_.end(), at);
  const size_t line_start = *(next_line - 1);
  const uint32_t column = code_points_before_[at] - code_points_before_[line_start];
  return {source_, static_cast<int>(next_line - line_starts_.begin()), static_cast<int>(column) + 1};
}

Place LineMap::place(int line, int column) const {
  if (line < 0 || column < 0) return {.source = source_};
  const size_t row = std::min(static_cast<size_t>(line), line_starts_.size() - 1);
  return place_at(line_starts_[row] + static_cast<size_t>(column));
}

bool is_clean_text(std::string_view text, const LineMap& lines, Findings& findings) {
  const std::optional<size_t> invalid = first_invalid_utf8(text);
  const std::optional<size_t> control = first_control(text);
  if (!invalid && !control) return true;
  if (looks_like_utf16(text)) {
    findings.add(lines.place(-1, -1), "this looks like UTF-16; save it as UTF-8");
    return false;
  }
  if (invalid)
    findings.add(lines.place_at(*invalid), fmt::format("byte 0x{:02x} at offset {} is not valid UTF-8",
                                                       static_cast<unsigned char>(text[*invalid]), *invalid));
  if (control)
    findings.add(lines.place_at(*control), fmt::format("control character 0x{:02x} at offset {}; expected plain text",
                                                       static_cast<unsigned char>(text[*control]), *control));
  return false;
}

namespace {

// The exception that ends the parse. Its message becomes a finding.
struct Refusal {
  Place place;
  std::string message;
};

// Returns "!!int" for "tag:yaml.org,2002:int".
std::string shown_tag(std::string_view tag) {
  constexpr std::string_view kStandard = "tag:yaml.org,2002:";
  return tag.starts_with(kStandard) ? in_quotes("!!" + std::string(tag.substr(kStandard.size()))) : in_quotes(tag);
}

// Returns whether `text` begins with a quote that is never closed. In single quotes, '' stands for a quote.
bool has_open_quote(std::string_view text) {
  if (text.empty() || (text[0] != '"' && text[0] != '\'')) return false;
  const char quote = text[0];
  for (size_t i = 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      const bool is_pair = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
      if (!is_pair) return false;
      ++i;
    }
  }
  return true;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const PlaceOf& place_of, Findings& findings)
      : text_(text), place_of_(place_of), findings_(findings) {}

  Value take_root() { return std::move(root_); }

  Place place(const YAML::Mark& mark) const { return place_of_(mark.line, mark.column); }

  // Returns the place at which the innermost open list or map begins.
  std::optional<Place> innermost(Value::Kind kind) const {
    for (const Frame& frame : std::views::reverse(frames_))
      if (frame.value.kind == kind) return frame.value.place;
    return std::nullopt;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++num_documents_ > 1) throw Refusal{place(mark), "a second document begins here; only one is allowed"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(make_value(Value::Kind::kNull, mark)); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    findings_.add(place(mark), kNoAliases);
    drop_next_value();
    add(make_value(Value::Kind::kNull, mark));
  }

  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    findings_.add(
        place(mark),
        fmt::format("anchors (&{}) are not supported; write the value out, or put quotes around the text", name));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& text) override {
    refuse_tag(mark, tag);
    refuse_open_quote(mark);
    refuse_empty_block(mark, text);
    Value value = make_value(Value::Kind::kScalar, mark);
    value.style = tag == "?" ? Value::Style::kPlain : Value::Style::kQuoted;
    value.text = text;
    value.text_place = place_of_text(mark, text);
    if (text.find('\0') != std::string::npos) findings_.add(value.place, "the text contains a NUL character");
    add(std::move(value));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(make_value(Value::Kind::kSequence, mark));
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(make_value(Value::Kind::kMap, mark));
  }
  void OnMapEnd() override { close(); }

 private:
  enum class Next { kKey, kValue, kValueToDrop };

  struct Frame {
    Value value;
    Next next = Next::kKey;  // used for maps only
    std::string key;
    Place key_place;
  };

  bool wants_key() const {
    return !frames_.empty() && frames_.back().value.is_map() && frames_.back().next == Next::kKey;
  }

  Value make_value(Value::Kind kind, const YAML::Mark& mark) {
    Value value;
    value.kind = kind;
    value.place = place(mark);
    if (++num_values_ > kMaxValues) throw Refusal{value.place, fmt::format("more than {} values", kMaxValues)};
    return value;
  }

  // A value that is already refused needs no second finding about its type.
  void drop_next_value() {
    if (!frames_.empty() && frames_.back().next == Next::kValue) frames_.back().next = Next::kValueToDrop;
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag == "?" || tag == "!" || tag.empty()) return;
    findings_.add(place(mark), fmt::format("tags ({}) are not supported; leave it out", shown_tag(tag)));
    drop_next_value();
  }

  // yaml-cpp accepts a text whose quote is still open at the end of the file, if a line end comes before the end.
  void refuse_open_quote(const YAML::Mark& mark) {
    const std::string_view rest = text_.substr(std::min(static_cast<size_t>(mark.pos), text_.size()));
    if (has_open_quote(rest)) throw Refusal{place(mark), "this quoted text has no closing quote"};
  }

  // "delimiter: |" begins a text of several lines, which is empty.
  void refuse_empty_block(const YAML::Mark& mark, const std::string& text) {
    const size_t at = std::min(static_cast<size_t>(mark.pos), text_.size());
    if (!text.empty() || at == text_.size() || (text_[at] != '|' && text_[at] != '>')) return;
    findings_.add(place(mark), fmt::format("'{0}' begins a text of several lines, but none follows; put quotes around "
                                           "the character: \"{0}\"",
                                           text_[at]));
    drop_next_value();
  }

  // Returns the place of the first character of a text on one line, or of a block that begins with | and finds its
  // indentation itself; of other texts, whose lines are joined or indented differently, a place without a line.
  Place place_of_text(const YAML::Mark& mark, std::string_view text) const {
    const std::string_view rest = text_.substr(std::min(static_cast<size_t>(mark.pos), text_.size()));
    const int quote = rest.starts_with('"') || rest.starts_with('\'') ? 1 : 0;
    const bool is_one_line = text.find('\n') == std::string_view::npos;
    if (is_one_line && rest.substr(quote).starts_with(text)) return place_of_(mark.line, mark.column + quote);
    const std::string_view header = rest.substr(0, rest.find('\n'));
    if (!rest.starts_with('|') || header.find_first_of("123456789") != std::string_view::npos) return {};
    const std::string_view block = rest.substr(header.size());
    const size_t first = block.find_first_not_of(" \r\n");
    Place place = place_of_(mark.line + 1, 0);  // of an empty line, too, which has no further columns
    place.column += static_cast<int>(first - block.rfind('\n', first) - 1);
    return place;
  }

  void open(Value value) {
    if (wants_key())
      throw Refusal{value.place, value.is_map() ? "a map cannot be a key; or is its '}' missing?"
                                                : "a list cannot be a key; or is its ']' missing?"};
    if (frames_.size() >= kMaxDepth)
      throw Refusal{value.place, fmt::format("lists and maps are nested more than {} deep", kMaxDepth)};
    frames_.push_back({std::move(value), Next::kKey, "", {}});
  }

  void close() {
    Value value = std::move(frames_.back().value);
    frames_.pop_back();
    add(std::move(value));
  }

  void add(Value value) {
    if (frames_.empty()) {
      root_ = std::move(value);
    } else if (wants_key()) {
      begin_member(value);
    } else if (frames_.back().value.is_map()) {
      end_member(std::move(value));
    } else {
      frames_.back().value.items.push_back(std::move(value));
    }
  }

  void begin_member(const Value& key) {
    Frame& frame = frames_.back();
    frame.key = key.text;
    frame.key_place = key.place;
    const std::string complaint = complaint_about_key(frame.value, key);
    if (!complaint.empty()) findings_.add(key.place, complaint);
    frame.next = complaint.empty() ? Next::kValue : Next::kValueToDrop;
  }

  static std::string complaint_about_key(const Value& map, const Value& key) {
    if (key.is_null()) return "a key is missing before ':'";
    if (key.text == "<<" && key.style == Value::Style::kPlain)
      return "merge keys (<<) are not supported; write the keys out";
    const Member* first = find_member(map, key.text);
    if (!first) return "";
    const bool tells_more = first->key_place != key.place;  // places of an argument have no lines and columns
    return fmt::format("key {} is given twice{}", in_quotes(key.text),
                       tells_more ? fmt::format(" (first: {})", to_string(first->key_place)) : "");
  }

  // The parser reports an empty value at the next line, which would mislead, so its place is the place of the key.
  void end_member(Value value) {
    Frame& frame = frames_.back();
    if (value.is_null()) value.place = frame.key_place;
    if (frame.next == Next::kValue) frame.value.members.push_back({frame.key, frame.key_place, std::move(value)});
    frame.next = Next::kKey;
  }

  std::string_view text_;
  const PlaceOf& place_of_;
  Findings& findings_;
  Value root_;
  std::vector<Frame> frames_;
  size_t num_values_ = 0;
  int num_documents_ = 0;
};

Place place_of_error(const YAML::Exception& error, const TreeBuilder& builder) {
  std::optional<Place> opened;
  if (error.msg.starts_with("end of sequence flow")) opened = builder.innermost(Value::Kind::kSequence);
  if (error.msg.starts_with("end of map flow")) opened = builder.innermost(Value::Kind::kMap);
  return opened.value_or(builder.place(error.mark));
}

}  // namespace

std::optional<Value> parse_yaml(std::string_view text, const PlaceOf& place_of, Findings& findings) {
  TreeBuilder builder(text, place_of, findings);
  try {
    std::istringstream stream{std::string(text) + '\n'};  // Without the line end, yaml-cpp reads an open '[' at the end
                                                          // as a key.
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
    return builder.take_root();
  } catch (const Refusal& refusal) {
    findings.add(refusal.place, refusal.message);
  } catch (const YAML::Exception& error) {
    findings.add(place_of_error(error, builder), message_of_yaml_error(error, text));
  }
  return std::nullopt;
}

}  // namespace rnnlab::config
