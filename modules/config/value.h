// A value of a YAML file with the place where it stands, and what was found wrong at places, told together.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab::config {

// Where a value stands: a line and column of a file, or an override on the command line.

struct Place {
  std::string source;  // the path as the user wrote it, or "argument 'training.epochs=x'"
  int line = 0;        // from 1; 0 where only the source is known
  int column = 0;      // from 1, in code points
  int argument = 0;    // 1, 2, ... for the first, second, ... override; 0 for a file

  bool operator==(const Place&) const = default;
};

// "mnist.yaml:3:5", "mnist.yaml" or "argument 'training.epochs=x'".
std::string to_string(const Place& place);

// Everything that is wrong with a configuration, collected so that the user sees all of it in one go.
// A finding is added once, however often it is met; they come out sorted by place, those of the file before those of
// the arguments.

class Findings {
 public:
  void add(const Place& place, const std::string& message);
  bool empty() const { return findings_.empty(); }

  // "mnist.yaml:7:15: training.epochs: got 'ten', expected an integer, at least 1"
  std::vector<std::string> lines() const;

  // UserError with ExitCode::kUsage, one line a finding, of a very large number only the first.
  void throw_if_any() const;

 private:
  struct Finding {
    Place place;
    std::string message;
    bool operator<(const Finding& other) const;
  };
  std::set<Finding> findings_;
};

// Text as YAML writes it: plain where every reader takes it as text, else in double quotes on one line.

// No character that YAML gives a meaning to, in a block or within [ ] and { }. "3" and "yes" are safe in this sense.
bool is_plain_safe(std::string_view text);

// `text` in double quotes, escaped so that it stays on one line.
std::string double_quoted(std::string_view text);

// Plain where it is safe and no reader could take it for a number, a bool or null.
std::string yaml_text(std::string_view text);

// A YAML document as a plain tree: what was written and where, before anyone decides what it means. Scalars keep their
// text, for whether `010` or `yes` is acceptable depends on the key that asks.

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

// The member of a map, or nullptr: also where `value` is no map.
const Member* find_member(const Value& value, std::string_view key);
Member* find_member(Value& value, std::string_view key);

// The member at a dotted key such as "training.epochs", or nullptr.
const Member* find_path(const Value& root, std::string_view dotted_key);

// Whether a dotted key lies inside a group: "training.epochs" in "training".
bool is_key_below(std::string_view key, std::string_view group);

// "'ten'", "the text '10'" (quoted in the file), "a list", "a map" or "nothing": as messages show what they got.
std::string shown(const Value& value);

// The value in one line of YAML: "[64, 32]", "{source: digits}".
std::string to_flow(const Value& value);

// The same for the inside of a list: "64, 32".
std::string flow_items(const std::vector<Value>& items);

// Scalars, lists and maps in the tree, itself included.
size_t count_values(const Value& value);

}  // namespace rnnlab::config
