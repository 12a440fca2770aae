// A struct of settings with its types erased: what the readers and printers of config work on. Schema<T>
// (config/schema.h) builds it; nobody else needs it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rnnlab::config {

class Checker;

using Scalar = std::variant<bool, int64_t, double, std::string>;  // a choice is held by its name
enum class ScalarKind { kBool, kInteger, kNumber, kText, kChoice };
enum class Arity { kOne, kOptional, kList };

struct Bound {
  enum class Limit { kIncluded, kExcluded };
  Scalar value;  // int64_t or double, as the field's kind
  Limit limit;
};

struct Condition {
  std::string expected;  // "cpu, cuda or cuda:N"
  std::function<bool(const Scalar&)> holds;
};

struct FieldSpec {
  enum class Emptiness { kAllowed, kRefused };

  ScalarKind kind = ScalarKind::kText;
  Arity arity = Arity::kOne;
  std::vector<std::string> choices;
  std::string word;  // that may stand in place of a number, and is held as text; none if it is empty
  std::string unit;
  std::optional<Bound> lower, upper;          // of each scalar
  std::vector<Condition> conditions;          // of each scalar
  Emptiness emptiness = Emptiness::kAllowed;  // of the text, or of the list

  std::function<std::vector<Scalar>(const void* object)> get;  // no scalars: an empty list or optional
  std::function<void(void* object, const std::vector<Scalar>&)> set;
};

struct StructSpec;

struct GroupSpec {
  const StructSpec* spec;
  std::function<void*(void* object)> member;
  std::function<const void*(const void* object)> const_member;
};

struct Entry {
  std::string key;
  std::string help;
  std::variant<FieldSpec, GroupSpec> content;

  const FieldSpec* field() const { return std::get_if<FieldSpec>(&content); }
  const GroupSpec* group() const { return std::get_if<GroupSpec>(&content); }
};

struct StructSpec {
  enum class Sweep { kTaken, kRefused };

  std::string title;
  Sweep sweep = Sweep::kTaken;  // whether `sweep:` may stand at the top of a file
  std::deque<Entry> entries;    // a deque, so that handles to entries stay valid
  std::vector<std::function<void(const void* object, Checker&)>> rules;

  const Entry* find(std::string_view key) const;
  const Entry* find_path(std::string_view dotted_key) const;
  std::vector<std::string> keys() const;
};

}  // namespace rnnlab::config
