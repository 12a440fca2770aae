// SPDX-License-Identifier: Apache-2.0
// The values of a YAML file with their places, and the errors found at these places, which are reported together.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab::config {

// The place of a value: a line and column of a file, or an override on the command line.
struct Place {
  std::string source;  // the path as the user wrote it, or "argument 'training.epochs=x'"
  int line = 0;        // from 1; 0 if only the source is known
  int column = 0;      // from 1, in code points
  int argument = 0;    // 1, 2, ... for the first, second, ... override; 0 for a file

  bool operator==(const Place&) const = default;
};

// A place within a text: both count from 1, columns in code points.
struct TextPlace {
  int line = 1;
  int column = 1;
};

// Returns a text such as "mnist.yaml:3:5", "mnist.yaml" or "argument 'training.epochs=x'".
std::string to_string(const Place& place);

// Collects all errors of a configuration, so that the user sees all of them at once. Equal findings are kept once.
// Findings are sorted by place: those of the file before those of the arguments.
class Findings {
 public:
  void add(const Place& place, const std::string& message);
  bool empty() const { return findings_.empty(); }

  // Adds what a user should know, and what is no finding.
  void note(const Place& place, const std::string& message) { notes_.insert({place, message}); }

  // Returns lines such as "mnist.yaml:7:15: training.epochs: got 'ten', expected an integer, at least 1".
  std::vector<std::string> lines() const { return lines_of(findings_); }

  // Throws UserError kUsage if there are findings, with one line for each of the first 100 findings. Returns the lines
  // of the notes.
  std::vector<std::string> throw_if_any() const;

 private:
  struct Finding {
    Place place;
    std::string message;
    bool operator<(const Finding& other) const;
  };
  static std::vector<std::string> lines_of(const std::set<Finding>& findings);

  std::set<Finding> findings_, notes_;
};

// The functions below write text as YAML: plain if every reader reads it as text, else in double quotes on one line.

// Returns whether `text` contains only characters without a meaning in YAML, in a block or within [ ] and { }. By this
// definition "3" and "yes" are safe.
bool is_plain_safe(std::string_view text);

// Returns `text` in double quotes, escaped so that it stays on one line.
std::string double_quoted(std::string_view text);

// Returns `text` unquoted if it is safe and no reader could read it as a number, a bool or null; else in double quotes.
std::string yaml_text(std::string_view text);

// A YAML document as a plain tree: texts and places, without interpretation. Scalars keep their text, because the
// schema of the key decides whether `010` or `yes` is valid.

struct Member;

struct Value {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  enum class Style { kPlain, kQuoted };  // of a scalar

  Kind kind = Kind::kNull;
  Style style = Style::kPlain;
  std::string text;             // of a scalar
  std::vector<Value> items;     // of a sequence
  std::vector<Member> members;  // of a map, in the order of the file, each key once
  Place place;
  Place text_place;  // of the first character of a scalar whose lines are those of the file; else without a line

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_sequence() const { return kind == Kind::kSequence; }
  bool is_map() const { return kind == Kind::kMap; }
};

struct Member {
  std::string key;
  Place key_place;
  Value value;
};

// Returns the member of a map, or nullptr. Returns nullptr too if `value` is not a map.
const Member* find_member(const Value& value, std::string_view key);
Member* find_member(Value& value, std::string_view key);

// Returns the member at a dotted key such as "training.epochs", or nullptr.
const Member* find_path(const Value& root, std::string_view dotted_key);

// Returns whether a dotted key lies inside a group: "training.epochs" in "training".
bool is_key_below(std::string_view key, std::string_view group);

// Returns the value as messages show it: "'ten'", "the text '10'" (quoted in the file), "a list", "a map" or "nothing".
std::string shown(const Value& value);

// Returns the value in one line of YAML: "[64, 32]", "{source: digits}".
std::string to_flow(const Value& value);

// Returns the items as the inside of a list in one line of YAML: "64, 32".
std::string flow_items(const std::vector<Value>& items);

// Returns the number of scalars, lists and maps in the tree, including `value`.
size_t count_values(const Value& value);

}  // namespace rnnlab::config
