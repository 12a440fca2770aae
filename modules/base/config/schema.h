// SPDX-License-Identifier: Apache-2.0
// Schema<T> is the one field list of a struct of settings: parsing, checks, help and printing all use it. The defaults
// are the values of T{}. A struct declares `static const config::Schema<TrainingSettings>& schema();` and defines it in
// its .cpp:
//
//   const config::Schema<TrainingSettings>& TrainingSettings::schema() {
//     static const config::Schema<TrainingSettings> schema = [] {
//       config::Schema<TrainingSettings> s("How the weights are fitted");
//       s.field("epochs", &TrainingSettings::epochs, "passes over the training data").at_least(1);
//       s.check([](const TrainingSettings& t, config::Checker& checker) {
//         if (t.warmup_epochs >= t.epochs) checker.complain({"warmup_epochs", "epochs"}, "no epoch is left to time");
//       });
//       return s;
//     }();
//     return schema;
//   }
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/config/document.h"
#include "base/config/enum_names.h"
#include "base/config/value.h"

namespace rnnlab::config {

// A struct of settings with its types erased, for the readers and printers of config. Schema<T> builds it; code outside
// of config does not need it.

class Checker;

using Scalar = std::variant<bool, int64_t, double, std::string>;  // a choice is held by its name
enum class ScalarKind { kBool, kInteger, kNumber, kText, kChoice };
enum class Arity { kOne, kOptional, kList };

struct Bound {
  enum class Limit { kIncluded, kExcluded };
  Scalar value;  // int64_t or double, according to the kind of the field
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
  std::map<std::string, std::string> former;  // names of choices in earlier versions, and what they are called now
  std::string word;  // text that is accepted in place of a number and held as text; "" if there is no such word
  std::string unit;
  std::optional<Bound> lower, upper;                                // of each scalar
  std::vector<Condition> conditions;                                // of each scalar
  Emptiness emptiness = Emptiness::kAllowed;                        // of the text, or of the list
  bool is_one_plain = false;                                        // a list of one item is printed without brackets
  std::function<std::string(const std::string& text)> advice = {};  // on a refused text: " (write cuda)", or ""

  std::function<std::vector<Scalar>(const void* object)> get;  // an empty vector: an empty list or optional
  std::function<void(void* object, const std::vector<Scalar>&)> set;
};

struct StructSpec;

struct GroupSpec {
  const StructSpec* spec;
  std::function<void*(void* object)> member;
  std::function<const void*(const void* object)> const_member;

  // Returns whether all entries have the same values in `object` as in `defaults`, which both contain the member.
  bool has_defaults(const void* object, const void* defaults) const;
};

// When a user may give a setting another value than the one that the run was trained with: to resume the run, to use
// the trained model for evaluation, prediction and export, or to compare the run with another run, because the setting
// is not part of the compared work (results/work_settings.h).
enum class Change { kOnResume, kOnUse, kOnCompare };

struct Entry {
  std::string key;
  std::string help;
  std::variant<FieldSpec, GroupSpec> content;
  std::set<Change> changes = {};           // of a group: of all its settings
  std::optional<GroupSpec> map_form = {};  // of a field: a map of keys that may stand in place of its value

  const FieldSpec* field() const { return std::get_if<FieldSpec>(&content); }
  const GroupSpec* group() const { return std::get_if<GroupSpec>(&content); }

  // Returns the group, or the map form of a field; null if there is neither.
  const GroupSpec* map() const { return map_form ? &*map_form : group(); }

  // Returns whether `object` has the same values as `defaults`: of a field both in its plain form and in its map form.
  bool has_defaults(const void* object, const void* defaults) const;
};

struct StructSpec {
  enum class Sweep { kTaken, kRefused };

  std::string title;
  Sweep sweep = Sweep::kTaken;  // whether `sweep:` is accepted at the top of a file
  std::deque<Entry> entries;    // a deque keeps references to its entries valid
  std::vector<std::function<void(const void* object, Checker&)>> rules;

  const Entry* find(std::string_view key) const;
  const Entry* find_path(std::string_view dotted_key) const;

  // Returns all entries by their dotted keys, in the order of the lists; a group comes before its own entries.
  std::vector<std::pair<std::string, const Entry*>> all_entries() const;

  // Whether the setting, or a group that it is in, may change at that time.
  bool may_change(std::string_view dotted_key, Change when) const;

  // Returns the dotted keys that may change at that time, whole groups as "checkpoint.*".
  std::vector<std::string> changeable_keys(Change when) const;
  std::vector<std::string> keys() const;
};

// The functions below convert a C++ member to scalars and back. Field<V> is the handle with which a schema states which
// values a member accepts.

// The upper bound of every count: larger than the counts of any run, and small enough for the product of two counts to
// fit into int64_t.
inline constexpr int64_t kMostCounted = 1'000'000'000;

// The upper bound of every number that becomes a float32. The largest float32 is 3.4e38.
inline constexpr double kMostFloat = 1e38;

template <class E>
concept SettingInteger = std::integral<E> && !std::same_as<E, bool>;

template <class E>
concept SettingScalar = std::same_as<E, bool> || SettingInteger<E> || std::same_as<E, double> ||
    std::same_as<E, std::string> || NamedEnum<E>;

// The content of a member of type V: one Element, an optional Element, or a list of Elements.
template <class V>
struct Shape {
  using Element = V;
  static constexpr Arity kArity = Arity::kOne;
};
template <class E>
struct Shape<std::optional<E>> {
  using Element = E;
  static constexpr Arity kArity = Arity::kOptional;
};
template <class E>
struct Shape<std::vector<E>> {
  using Element = E;
  static constexpr Arity kArity = Arity::kList;
};

template <SettingScalar E>
constexpr ScalarKind scalar_kind() {
  if constexpr (std::same_as<E, bool>)
    return ScalarKind::kBool;
  else if constexpr (NamedEnum<E>)
    return ScalarKind::kChoice;
  else if constexpr (SettingInteger<E>)
    return ScalarKind::kInteger;
  else if constexpr (std::same_as<E, double>)
    return ScalarKind::kNumber;
  else
    return ScalarKind::kText;
}

template <SettingScalar E>
Scalar to_scalar(const E& value) {
  if constexpr (NamedEnum<E>)
    return std::string(name_of(value));
  else if constexpr (SettingInteger<E>)
    return static_cast<int64_t>(value);
  else
    return value;
}

template <SettingScalar E>
E from_scalar(const Scalar& scalar) {
  if constexpr (NamedEnum<E>)
    return *from_name<E>(std::get<std::string>(scalar));
  else if constexpr (SettingInteger<E>)
    return static_cast<E>(std::get<int64_t>(scalar));
  else
    return std::get<E>(scalar);
}

template <class V>
std::vector<Scalar> to_scalars(const V& value) {
  using Element = typename Shape<V>::Element;
  std::vector<Scalar> scalars;
  if constexpr (Shape<V>::kArity == Arity::kOne)
    scalars.push_back(to_scalar<Element>(value));
  else if constexpr (Shape<V>::kArity == Arity::kList)
    for (const Element& item : value) scalars.push_back(to_scalar<Element>(item));
  else if (value)
    scalars.push_back(to_scalar<Element>(*value));
  return scalars;
}

template <class V>
V from_scalars(const std::vector<Scalar>& scalars) {
  using Element = typename Shape<V>::Element;
  if constexpr (Shape<V>::kArity == Arity::kOne) {
    return from_scalar<Element>(scalars.at(0));
  } else if constexpr (Shape<V>::kArity == Arity::kOptional) {
    return scalars.empty() ? V{} : V{from_scalar<Element>(scalars[0])};
  } else {
    V list;
    for (const Scalar& scalar : scalars) list.push_back(from_scalar<Element>(scalar));
    return list;
  }
}

// States which values a member accepts, in a chain: schema.field(...).unit("samples").at_least(1). Bounds and
// conditions apply to each item of a list, and to the value of an optional if it has one.
template <class V>
class Field {
 public:
  using Element = typename Shape<V>::Element;
  static_assert(SettingScalar<Element>,
                "a setting is a bool, an integer, a double, a std::string, an enum with EnumNames, or a std::vector or "
                "std::optional of these");

  explicit Field(Entry& entry) : entry_(entry), spec_(std::get<FieldSpec>(entry.content)) {}

  Field& unit(std::string text) {
    spec_.unit = std::move(text);
    return *this;
  }
  Field& at_least(Element limit) { return bound(spec_.lower, limit, Bound::Limit::kIncluded); }
  Field& above(Element limit) { return bound(spec_.lower, limit, Bound::Limit::kExcluded); }
  Field& at_most(Element limit) { return bound(spec_.upper, limit, Bound::Limit::kIncluded); }
  Field& below(Element limit) { return bound(spec_.upper, limit, Bound::Limit::kExcluded); }
  Field& between(Element least, Element most) { return at_least(least).at_most(most); }

  // Accepts a word in place of a number that is outside of the bounds: or_word("all", 0) stores 0 for "all".
  Field& or_word(std::string word, Element number) requires SettingInteger<Element> {
    const Scalar as_text = word, as_number = to_scalar<Element>(number);
    spec_.get = [get = spec_.get, as_text, as_number](const void* object) {
      std::vector<Scalar> scalars = get(object);
      std::replace(scalars.begin(), scalars.end(), as_number, as_text);
      return scalars;
    };
    spec_.set = [set = spec_.set, as_text, as_number](void* object, std::vector<Scalar> scalars) {
      std::replace(scalars.begin(), scalars.end(), as_text, as_number);
      set(object, scalars);
    };
    spec_.word = std::move(word);
    return *this;
  }

  // Without this, training fixes the setting.
  template <std::same_as<Change>... When>
  Field& may_change(When... when) {
    entry_.changes.insert({when...});
    return *this;
  }

  // Refuses empty text; a list needs at least one item.
  Field& not_empty() {
    spec_.emptiness = FieldSpec::Emptiness::kRefused;
    return *this;
  }

  // Prints a list of one item without brackets. Such a list was one value in earlier versions.
  Field& one_is_plain() requires(Shape<V>::kArity == Arity::kList) {
    spec_.is_one_plain = true;
    return *this;
  }

  // Adds a condition on the value: where("auto, cpu, cuda or cuda:N", is_device_name). Help shows `expected` too.
  template <std::predicate<const Element&> Holds>
  Field& where(std::string expected, Holds holds) {
    spec_.conditions.push_back(
        {std::move(expected), [holds](const Scalar& scalar) { return holds(from_scalar<Element>(scalar)); }});
    return *this;
  }

  // Accepts only these texts, as an enum accepts only its names.
  Field& one_of(std::vector<std::string> names) requires std::same_as<Element, std::string> {
    spec_.kind = ScalarKind::kChoice;
    spec_.choices = std::move(names);
    return *this;
  }

  // Accepts these names of earlier versions, the keys of a map, for a choice, with a note to the user.
  template <class Names>
  Field& formerly(const Names& names, Element choice) requires NamedEnum<Element> {
    for (const auto& name : names) spec_.former[name.first] = name_of(choice);
    return *this;
  }

  // Adds advice on a refused text, such as " (write cuda)"; it returns "" for a text that it does not know.
  Field& advise(std::function<std::string(const std::string& text)> advice) {
    spec_.advice = std::move(advice);
    return *this;
  }

 private:
  Field& bound(std::optional<Bound>& side, Element value, Bound::Limit limit) {
    static_assert(SettingInteger<Element> || std::same_as<Element, double>, "only numbers have bounds");
    side = Bound{to_scalar<Element>(value), limit};
    return *this;
  }

  Entry& entry_;
  FieldSpec& spec_;
};

// Returns the field of a member, with the limits of its type if the type is narrower than int64_t.
template <class T, class V>
FieldSpec make_field_spec(V T::*member) {
  using Element = typename Shape<V>::Element;
  FieldSpec spec;
  spec.kind = scalar_kind<Element>();
  spec.arity = Shape<V>::kArity;
  if constexpr (NamedEnum<Element>) spec.choices = names_of<Element>();
  if constexpr (SettingInteger<Element>) {
    using Limits = std::numeric_limits<Element>;
    if (std::cmp_greater(Limits::min(), std::numeric_limits<int64_t>::min()))
      spec.lower = Bound{static_cast<int64_t>(Limits::min()), Bound::Limit::kIncluded};
    if (std::cmp_less(Limits::max(), std::numeric_limits<int64_t>::max()))
      spec.upper = Bound{static_cast<int64_t>(Limits::max()), Bound::Limit::kIncluded};
  }
  spec.get = [member](const void* object) { return to_scalars<V>(static_cast<const T*>(object)->*member); };
  spec.set = [member](void* object, const std::vector<Scalar>& scalars) {
    static_cast<T*>(object)->*member = from_scalars<V>(scalars);
  };
  return spec;
}

class ReadContext;

// Reports the errors of rules over several keys.
class Checker {
 public:
  Checker(ReadContext& context, const StructSpec& spec, std::string prefix);

  // Adds a finding that names every key with its place, or with "(default)" if the file does not set the key. `keys`
  // are dotted and relative to the struct of the rule. Pass all keys that the rule depends on, because a rule is not
  // reported if one of its keys already has a finding. A rule must not depend on whether a key is set: use
  // std::optional, so that a printed configuration means the same as its source file.
  void complain(const std::vector<std::string>& keys, const std::string& message);

  // The same for a place within the text of one key. If the text's lines are not those of the file, as in quotes over
  // several lines or on the command line, the message says the place in the text.
  void complain_in_text(const std::string& key, const TextPlace& place, const std::string& message);

  // Returns whether the key, also relative to the struct of the rule, has a finding already. Rules that depend on a key
  // without naming it in their message ask this first.
  bool has_finding(const std::string& key) const;

 private:
  ReadContext& context_;
  const StructSpec& spec_;
  std::string prefix_;  // "" or "training."
};

template <class T>
class Schema {
 public:
  // The title is the first line of the printed configuration and of the reference page.
  explicit Schema(std::string title) { spec_.title = std::move(title); }

  // V is bool, an integer, double, std::string, an enum with EnumNames, or a std::vector or std::optional of one of
  // these types. The help is one line without a full stop; the unit, the default and the bounds are added to it.
  template <class V>
  Field<V> field(std::string key, V T::*member, std::string help) {
    spec_.entries.push_back({std::move(key), std::move(help), make_field_spec(member)});
    return Field<V>(spec_.entries.back());
  }

  // A number in a map, which does not have the key if the number is not set.
  Field<std::optional<double>> entry(const std::string& key, std::map<std::string, double> T::*member,
                                     std::string help) {
    FieldSpec spec;
    spec.kind = ScalarKind::kNumber;
    spec.arity = Arity::kOptional;
    spec.get = [key, member](const void* object) {
      const auto& map = static_cast<const T*>(object)->*member;
      return map.contains(key) ? std::vector<Scalar>{map.at(key)} : std::vector<Scalar>{};
    };
    spec.set = [key, member](void* object, const std::vector<Scalar>& scalars) {
      auto& map = static_cast<T*>(object)->*member;
      map.erase(key);
      if (!scalars.empty()) map[key] = std::get<double>(scalars[0]);
    };
    spec_.entries.push_back({key, std::move(help), std::move(spec)});
    return Field<std::optional<double>>(spec_.entries.back());
  }

  // `schema` must outlive this object.
  template <class V>
  void group(std::string key, V T::*member, std::string help, const Schema<V>& schema, std::set<Change> changes = {}) {
    spec_.entries.push_back({std::move(key), std::move(help), group_of(member, schema), std::move(changes)});
  }

  // Accepts a map of keys in place of the value of the field `key`. The field then has its default, and the object
  // behind `member` differs from its own default; it is printed as a map. `schema` must outlive this object.
  template <class V>
  void map_form(std::string_view key, V T::*member, const Schema<V>& schema) {
    const auto entry = std::ranges::find(spec_.entries, key, &Entry::key);
    entry->map_form = group_of(member, schema);
  }

  // Adds a rule over several keys. The rule runs on the finished struct, whose keys hold valid values or defaults.
  void check(std::function<void(const T&, Checker&)> rule) {
    spec_.rules.push_back([rule = std::move(rule)](const void* object, Checker& checker) {
      rule(*static_cast<const T*>(object), checker);
    });
  }

  // A file of these settings must not contain `sweep:`, and messages do not propose a sweep.
  void refuse_sweep() { spec_.sweep = StructSpec::Sweep::kRefused; }

  const StructSpec& spec() const { return spec_; }

 private:
  template <class V>
  static GroupSpec group_of(V T::*member, const Schema<V>& schema) {
    return {&schema.spec(), [member](void* object) -> void* { return &(static_cast<T*>(object)->*member); },
            [member](const void* object) -> const void* { return &(static_cast<const T*>(object)->*member); }};
  }

  StructSpec spec_;
};

void read_struct(const Document& document, const StructSpec& spec, void* object, Findings& findings);
std::string print_struct(const StructSpec& spec, const void* object, const void* defaults);
std::string describe_struct(const StructSpec& spec, const void* defaults);
std::string markdown_struct(const StructSpec& spec, const void* defaults);
std::string json_schema_struct(const StructSpec& spec, const void* defaults);

// Returns T{} with the values that the document sets. An error is added to `findings`, and its key keeps its default. A
// top-level `sweep` is ignored: Sweep (base/config/sweep.h) handles it.
template <class T>
T read(const Document& document, const Schema<T>& schema, Findings& findings) {
  T object{};
  read_struct(document, schema.spec(), &object, findings);
  return object;
}

// Returns YAML with a comment for each key (meaning, unit, default, bounds). The YAML reads back to an equal value.
template <class T>
std::string print(const T& object, const Schema<T>& schema) {
  const T defaults{};
  return print_struct(schema.spec(), &object, &defaults);
}

// Returns plain text, with the dotted key, the accepted values, the default and the meaning of each key.
template <class T>
std::string describe(const Schema<T>& schema) {
  const T defaults{};
  return describe_struct(schema.spec(), &defaults);
}

// Returns a Markdown page with one section and one table for each group.
template <class T>
std::string markdown(const Schema<T>& schema) {
  const T defaults{};
  return markdown_struct(schema.spec(), &defaults);
}

// Returns a JSON Schema (draft 2020-12) of a file, including its sweep, for editors.
template <class T>
std::string json_schema(const Schema<T>& schema) {
  const T defaults{};
  return json_schema_struct(schema.spec(), &defaults);
}

// The functions below describe in words which values a field accepts, and check a value against its field.

// Returns a text such as "an integer, at least 1", "true or false", "lstm or gru" or "text".
std::string expected_item(const FieldSpec& field);

// Returns expected_item without the type: "at least 1", "lstm or gru", "".
std::string constraints(const FieldSpec& field);

// Returns the text for the field as a whole: "a list of at least one item, each an integer, at least 1".
std::string expectation(const FieldSpec& field);

// Returns the scalar that `value` spells, or nullopt if the field does not accept it (type, bounds and conditions).
std::optional<Scalar> accept(const FieldSpec& field, const Value& value);

// Returns a correction of a wrong `value`: " (write 1000)", " (did you mean 'lstm'?)", or "".
std::string hint(const FieldSpec& field, const Value& value);

// Returns the scalar as YAML: 3, 0.001, true, "text".
std::string scalar_text(const Scalar& scalar);

}  // namespace rnnlab::config
