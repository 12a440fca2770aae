// SPDX-License-Identifier: Apache-2.0
#include "base/config/schema.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab::config {

bool GroupSpec::has_defaults(const void* object, const void* defaults) const {
  return std::ranges::all_of(spec->entries, [&](const Entry& entry) {
    return entry.has_defaults(const_member(object), const_member(defaults));
  });
}

bool Entry::has_defaults(const void* object, const void* defaults) const {
  if (field() != nullptr && field()->get(object) != field()->get(defaults)) return false;
  return map() == nullptr || map()->has_defaults(object, defaults);
}

const Entry* StructSpec::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

const Entry* StructSpec::find_path(std::string_view dotted_key) const {
  const size_t dot = dotted_key.find('.');
  const Entry* entry = find(dotted_key.substr(0, dot));
  if (!entry || dot == std::string_view::npos) return entry;
  return entry->map() ? entry->map()->spec->find_path(dotted_key.substr(dot + 1)) : nullptr;
}

std::vector<std::pair<std::string, const Entry*>> StructSpec::all_entries() const {
  std::vector<std::pair<std::string, const Entry*>> all;
  for (const Entry& entry : entries) {
    all.emplace_back(entry.key, &entry);
    if (entry.map() == nullptr) continue;
    for (const auto& [key, inner] : entry.map()->spec->all_entries()) all.emplace_back(entry.key + "." + key, inner);
  }
  return all;
}

bool StructSpec::may_change(std::string_view dotted_key, Change when) const {
  const size_t dot = dotted_key.find('.');
  const Entry* entry = find(dotted_key.substr(0, dot));
  if (entry == nullptr) return false;
  if (entry->changes.contains(when)) return true;
  if (dot == std::string_view::npos || entry->map() == nullptr) return false;
  return entry->map()->spec->may_change(dotted_key.substr(dot + 1), when);
}

std::vector<std::string> StructSpec::changeable_keys(Change when) const {
  std::vector<std::string> keys;
  for (const Entry& entry : entries) {
    const bool is_group = entry.group() != nullptr;
    if (entry.changes.contains(when))
      keys.push_back(is_group ? entry.key + ".*" : entry.key);
    else if (is_group)
      for (const std::string& key : entry.group()->spec->changeable_keys(when)) keys.push_back(entry.key + "." + key);
  }
  return keys;
}

std::vector<std::string> StructSpec::keys() const {
  std::vector<std::string> keys;
  for (const Entry& entry : entries) keys.push_back(entry.key);
  return keys;
}

namespace {

std::string noun(const FieldSpec& field) {
  switch (field.kind) {
    case ScalarKind::kBool:
      return "true or false";
    case ScalarKind::kInteger:
      return "an integer";
    case ScalarKind::kNumber:
      return "a number";
    case ScalarKind::kChoice:
      return join_with_or(field.choices);
    case ScalarKind::kText:
      break;
  }
  const bool is_nonempty_text = field.emptiness == FieldSpec::Emptiness::kRefused && field.arity != Arity::kList;
  return is_nonempty_text ? "text that is not empty" : "text";
}

std::string bounds_in_words(const FieldSpec& field) {
  std::vector<std::string> parts;
  const auto is_included = [](const Bound& bound) { return bound.limit == Bound::Limit::kIncluded; };
  if (field.lower)
    parts.push_back((is_included(*field.lower) ? "at least " : "above ") + scalar_text(field.lower->value));
  if (field.upper)
    parts.push_back((is_included(*field.upper) ? "at most " : "below ") + scalar_text(field.upper->value));
  return join(parts, " and ");
}

bool meets_lower(const std::optional<Bound>& lower, const Scalar& scalar) {
  if (!lower) return true;
  return lower->limit == Bound::Limit::kIncluded ? scalar >= lower->value : scalar > lower->value;
}

bool meets_upper(const std::optional<Bound>& upper, const Scalar& scalar) {
  if (!upper) return true;
  return upper->limit == Bound::Limit::kIncluded ? scalar <= upper->value : scalar < upper->value;
}

std::optional<Scalar> parse_bool(const std::string& text) {
  if (text == "true") return Scalar(true);
  if (text == "false") return Scalar(false);
  return std::nullopt;
}

template <class Number>
std::optional<Scalar> as_scalar(const std::optional<Number>& number) {
  return number ? std::optional<Scalar>(*number) : std::nullopt;
}

// Parses the scalar by its kind only, without bounds and conditions. Text and choices may be quoted or not; a quoted
// number is text.
std::optional<Scalar> parse(const FieldSpec& field, const Value& value) {
  if (!value.is_scalar()) return std::nullopt;
  if (field.kind == ScalarKind::kText) return Scalar(value.text);
  if (field.kind == ScalarKind::kChoice) {
    if (const auto now = field.former.find(value.text); now != field.former.end()) return Scalar(now->second);
    const bool is_listed = std::find(field.choices.begin(), field.choices.end(), value.text) != field.choices.end();
    return is_listed ? std::optional<Scalar>(value.text) : std::nullopt;
  }
  if (!field.word.empty() && value.text == field.word) return Scalar(field.word);
  if (value.style == Value::Style::kQuoted) return std::nullopt;
  if (field.kind == ScalarKind::kBool) return parse_bool(value.text);
  return field.kind == ScalarKind::kInteger ? as_scalar(parse_int64(value.text)) : as_scalar(parse_double(value.text));
}

std::string bool_hint(const std::string& text) {
  const std::string lower = lower_case(text);
  for (const char* word : {"yes", "on", "1", "y", "true", "t"})
    if (lower == word) return " (write true)";
  for (const char* word : {"no", "off", "0", "n", "false", "f"})
    if (lower == word) return " (write false)";
  return "";
}

std::optional<int64_t> parse_base(std::string_view digits, int base) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  const bool is_whole = error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  return is_whole ? std::optional(number) : std::nullopt;
}

// Parses 0x10, 0o17 and 0b1, which some readers of YAML accept.
std::optional<int64_t> parse_other_base(const std::string& lower) {
  if (lower.starts_with("0x")) return parse_base(std::string_view(lower).substr(2), 16);
  if (lower.starts_with("0o")) return parse_base(std::string_view(lower).substr(2), 8);
  if (lower.starts_with("0b")) return parse_base(std::string_view(lower).substr(2), 2);
  return std::nullopt;
}

std::string number_hint(ScalarKind kind, const std::string& text) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  std::string lower = lower_case(text);
  if (lower == ".nan" || lower.ends_with(".inf") || lower == "nan" || lower.ends_with("inf"))
    return " (it must be finite)";
  lower.erase(std::remove(lower.begin(), lower.end(), '_'), lower.end());
  if (const std::optional<int64_t> integer = parse_other_base(lower)) return fmt::format(" (write {})", *integer);
  const std::optional<double> number = parse_double(lower);
  if (!number) return "";
  if (kind == ScalarKind::kNumber) return fmt::format(" (write {})", format_shortest(*number));
  const bool is_integer = std::trunc(*number) == *number && std::abs(*number) <= kExactIntegers;
  return is_integer ? fmt::format(" (write {})", static_cast<int64_t>(*number)) : "";
}

std::string choice_hint(const FieldSpec& field, const std::string& text) {
  for (const std::string& choice : field.choices)
    if (lower_case(choice) == lower_case(text)) return fmt::format(" (did you mean '{}'?)", choice);
  return did_you_mean(text, field.choices);
}

}  // namespace

std::string constraints(const FieldSpec& field) {
  std::vector<std::string> parts;
  if (field.kind == ScalarKind::kChoice) parts.push_back(noun(field));
  if (const std::string bounds = bounds_in_words(field); !bounds.empty()) parts.push_back(bounds);
  for (const Condition& condition : field.conditions) parts.push_back(condition.expected);
  if (!field.word.empty()) parts.push_back("or " + field.word);
  return join(parts, ", ");
}

std::string expected_item(const FieldSpec& field) {
  std::string text = constraints(field);
  const bool says_all = field.kind == ScalarKind::kChoice || (field.kind == ScalarKind::kText && !text.empty());
  if (says_all) return text;
  return text.empty() ? noun(field) : noun(field) + ", " + text;
}

std::string expectation(const FieldSpec& field) {
  if (field.arity != Arity::kList) return expected_item(field);
  const bool needs_items = field.emptiness == FieldSpec::Emptiness::kRefused;
  return fmt::format("a list{}, each {}", needs_items ? " of at least one item" : "", expected_item(field));
}

std::optional<Scalar> accept(const FieldSpec& field, const Value& value) {
  std::optional<Scalar> scalar = parse(field, value);
  if (scalar && !field.word.empty() && *scalar == Scalar(field.word)) return scalar;
  if (!scalar || !meets_lower(field.lower, *scalar) || !meets_upper(field.upper, *scalar)) return std::nullopt;
  const bool refuses_empty = field.emptiness == FieldSpec::Emptiness::kRefused && field.arity != Arity::kList;
  if (refuses_empty && field.kind == ScalarKind::kText && value.text.empty()) return std::nullopt;
  const auto holds = [&](const Condition& condition) { return condition.holds(*scalar); };
  return std::all_of(field.conditions.begin(), field.conditions.end(), holds) ? scalar : std::nullopt;
}

std::string hint(const FieldSpec& field, const Value& value) {
  if (!value.is_scalar()) return "";
  if (const std::string advice = field.advice ? field.advice(value.text) : ""; !advice.empty()) return advice;
  if (parse(field, value)) return "";
  if (field.kind == ScalarKind::kChoice) return choice_hint(field, value.text);
  Value plain = value;
  plain.style = Value::Style::kPlain;
  if (value.style == Value::Style::kQuoted && parse(field, plain)) return " (leave out the quotes)";
  return field.kind == ScalarKind::kBool ? bool_hint(value.text) : number_hint(field.kind, value.text);
}

std::string scalar_text(const Scalar& scalar) {
  if (const auto* truth = std::get_if<bool>(&scalar)) return *truth ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&scalar)) return std::to_string(*integer);
  if (const auto* text = std::get_if<std::string>(&scalar)) return yaml_text(*text);
  const double number = std::get<double>(scalar);
  RNNLAB_INVARIANT(std::isfinite(number), "a setting holds a number that is not finite");
  return format_shortest(number);
}

}  // namespace rnnlab::config
