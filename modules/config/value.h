// A YAML document as a plain tree: what was written and where, before anyone decides what it means. Scalars keep their
// text, for whether `010` or `yes` is acceptable depends on the key that asks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/place.h"

namespace rnnlab::config {

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
