// SPDX-License-Identifier: Apache-2.0
// Reads a document into a struct of settings, by the struct's schema (schema.h).
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/config/document.h"
#include "base/config/schema.h"
#include "base/config/sweep.h"
#include "base/config/value.h"
#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab::config {

// The shared state of one reading of a document: the document, its findings, and the keys that have a finding.
class ReadContext {
 public:
  ReadContext(const Document& document, const StructSpec& root, Findings& findings)
      : document_(document), root_(root), findings_(findings) {}

  const Document& document() const { return document_; }
  const StructSpec& root() const { return root_; }
  Findings& findings() { return findings_; }

  // Rules that name this dotted key are not reported from now on, because the user meant a different value.
  void mark_wrong(const std::string& key) { wrong_keys_.push_back(key); }

  // Returns whether the key, a group that contains the key, or a key below the key is marked.
  bool is_wrong(const std::string& key) const;

 private:
  const Document& document_;
  const StructSpec& root_;
  Findings& findings_;
  std::vector<std::string> wrong_keys_;
};

namespace {

// The message about a key that no schema lists.
struct UnknownKey {
  std::string message;  // "unknown key 'epoch' in training (did you mean 'epochs'?)"
  std::string meant;    // the dotted key that was probably meant, or ""
  bool lists_keys = false;
};

// Returns the first key in the tree that ends in `key`, or "".
std::string same_name_elsewhere(const StructSpec& root, const std::string& key) {
  for (const auto& [dotted_key, entry] : root.all_entries())
    if (dotted_key.ends_with("." + key) || dotted_key == key) return dotted_key;
  return "";
}

std::string nested_form(const std::string& dotted_key) {
  std::vector<std::string> parts = split(dotted_key, '.');
  return join(parts, ": {") + ": ..." + std::string(parts.size() - 1, '}');
}

std::vector<std::string> keys_of_group(const StructSpec& group, const std::string& prefix) {
  std::vector<std::string> keys = group.keys();
  if (prefix.empty() && group.sweep == StructSpec::Sweep::kTaken) {
    keys.emplace_back(kSweepKey);
    keys.emplace_back(kRepeatsKey);
  }
  return keys;
}

// Explains a `key` in the group at `prefix` ("" or "training."), which has the keys of `group`. If no key is similar,
// the message lists the keys of the group, unless `listing` is kNone because an earlier message listed them.
enum class Listing { kOfKeys, kNone };
UnknownKey explain_unknown_key(const StructSpec& root, const StructSpec& group, const std::string& prefix,
                               const std::string& key, Listing listing) {
  const std::string where = prefix.empty() ? "" : " in " + prefix.substr(0, prefix.size() - 1);
  const std::string complaint = fmt::format("unknown key {}{}", in_quotes(key), where);
  if (key.find('.') != std::string::npos && group.find_path(key))
    return {fmt::format("{} (write it nested: {})", complaint, nested_form(key)), prefix + key};
  const std::vector<std::string> keys = keys_of_group(group, prefix);
  if (const std::string meant = nearest(key, keys); !meant.empty())
    return {fmt::format("{} (did you mean '{}'?)", complaint, meant), prefix + meant};
  if (const std::string meant = same_name_elsewhere(root, key); !meant.empty())
    return {fmt::format("{} (did you mean '{}'?)", complaint, meant), meant};
  if (listing == Listing::kNone) return {complaint, ""};
  return {fmt::format("{} (keys here: {})", complaint, join(keys, ", ")), "", true};
}

}  // namespace

bool ReadContext::is_wrong(const std::string& key) const {
  return std::any_of(wrong_keys_.begin(), wrong_keys_.end(), [&](const std::string& wrong) {
    return key == wrong || is_key_below(key, wrong) || is_key_below(wrong, key);
  });
}

Checker::Checker(ReadContext& context, const StructSpec& spec, std::string prefix)
    : context_(context), spec_(spec), prefix_(std::move(prefix)) {}

bool Checker::has_finding(const std::string& key) const {
  RNNLAB_INVARIANT(spec_.find_path(key), fmt::format("a rule asks for the key '{}', which no field list has", key));
  return context_.is_wrong(prefix_ + key);
}

// The finding is placed at the first key that is set; the names of the later keys include their places.
void Checker::complain(const std::vector<std::string>& keys, const std::string& message) {
  RNNLAB_INVARIANT(!keys.empty(), "a rule must name the keys that it is about");
  const Document& document = context_.document();
  std::optional<Place> head;
  std::vector<std::string> names;
  for (const std::string& key : keys) {
    RNNLAB_INVARIANT(spec_.find_path(key), fmt::format("a rule names the key '{}', which no field list has", key));
    const std::string full_key = prefix_ + key;
    if (context_.is_wrong(full_key)) return;
    const Member* member = find_path(document.root(), full_key);
    if (!member)
      names.push_back(full_key + " (default)");
    else if (head)
      names.push_back(fmt::format("{} ({})", full_key, to_string(member->value.place)));
    else
      names.push_back(full_key);
    if (member && !head) head = member->value.place;
  }
  context_.findings().add(head.value_or(Place{.source = document.source()}),
                          fmt::format("{}: {}", join_with_and(names), message));
}

void Checker::complain_in_text(const std::string& key, const TextPlace& place, const std::string& message) {
  if (has_finding(key)) return;
  const Member* member = find_path(context_.document().root(), prefix_ + key);
  if (!member || member->value.text_place.line == 0)
    return complain({key}, fmt::format("line {}, column {}: {}", place.line, place.column, message));
  Place in_file = member->value.text_place;
  in_file.line += place.line - 1;
  in_file.column += place.column - 1;
  context_.findings().add(in_file, fmt::format("{}: {}", prefix_ + key, message));
}

namespace {

constexpr int64_t kMostOfRange = 10'000;

bool is_range(const FieldSpec& field, const Value& value) {
  return field.kind == ScalarKind::kInteger && value.is_scalar() && value.text.find("..") != std::string::npos;
}

std::string range_hint() {
  return fmt::format(" (a range such as 1..24 begins with its smallest integer and has at most {})",
                     format_count(kMostOfRange));
}

// Returns the items of a list, written either as "naive,fused" or as [naive, fused].
std::vector<Value> items_meant(const Value& value) {
  if (!value.is_scalar()) return value.items;
  std::vector<Value> items;
  for (const std::string& part : split(value.text, ',')) {
    items.push_back(value);
    items.back().text = trim(part);
  }
  return items;
}

bool accepts_all(const FieldSpec& field, const std::vector<Value>& items) {
  return std::ranges::all_of(items, [&](const Value& item) { return accept(field, item).has_value(); });
}

// A text whose items the field accepts only lacks the brackets.
std::string list_hint(const FieldSpec& field, const Value& value) {
  Value plain = value;
  plain.style = Value::Style::kPlain;
  if (!accepts_all(field, items_meant(plain))) return hint(field, value);
  const std::string shown_text = in_quotes(value.text);
  return fmt::format(" (write [{}])", std::string_view(shown_text).substr(1, shown_text.size() - 2));
}

// Several values for a key that takes one value probably mean a run for each value.
std::string sweep_hint(const ReadContext& context, const FieldSpec& field, const std::string& key, const Value& value) {
  const std::vector<Value> items = items_meant(value);
  if (context.root().sweep == StructSpec::Sweep::kRefused || field.arity == Arity::kList || items.size() < 2) return "";
  const std::string list = flow_items(items);
  constexpr size_t kMostShown = 80;
  if (!accepts_all(field, items) || list.size() > kMostShown) return "";
  return value.place.argument > 0
             ? fmt::format(" (for one run per value write '{}.{}=[{}]', with the quotes)", kSweepKey, key, list)
             : fmt::format(" (for one run per value write {}: {{{}: [{}]}})", kSweepKey, key, list);
}

std::string value_hint(const ReadContext& context, const FieldSpec& field, const std::string& key, const Value& value) {
  if (field.arity == Arity::kList && is_range(field, value)) return range_hint();
  if (field.arity == Arity::kList && value.is_scalar()) return list_hint(field, value);
  const std::string sweep = sweep_hint(context, field, key, value);
  return sweep.empty() ? hint(field, value) : sweep;
}

void complain_value(ReadContext& context, const FieldSpec& field, const std::string& key, const Value& value) {
  context.findings().add(value.place, fmt::format("{}: got {}, expected {}{}", key, shown(value), expectation(field),
                                                  value_hint(context, field, key, value)));
  context.mark_wrong(key);
}

void complain_item(ReadContext& context, const FieldSpec& field, const std::string& key, size_t number,
                   const Value& item) {
  context.findings().add(
      item.place, fmt::format("{}, item {}: got {}, expected {}{}", key, number, shown(item), expected_item(field),
                              is_range(field, item) ? range_hint() : hint(field, item)));
  context.mark_wrong(key);
}

using Scalars = std::optional<std::vector<Scalar>>;

// A single word can only mean a list of one item. A text with commas may be a list of several, so it is refused.
bool is_list_of_one(const Value& value) {
  return value.is_scalar() && !value.is_null() && !value.text.empty() && value.text.find(',') == std::string::npos;
}

// Returns the integers of "1..24"; empty if the field or the text is not of that kind, for a bound that the field does
// not accept, and for a range that has no integers or too many.
std::vector<Scalar> integers_of_range(const FieldSpec& field, const Value& value) {
  if (!is_range(field, value)) return {};
  const size_t dots = value.text.find("..");
  Value first = value, last = value;
  first.text = value.text.substr(0, dots);
  last.text = value.text.substr(dots + 2);
  const std::optional<Scalar> low = accept(field, first), high = accept(field, last);
  if (!low || !high) return {};
  std::vector<Scalar> integers;
  const int64_t begin = std::get<int64_t>(*low), end = std::get<int64_t>(*high);
  if (end - begin >= kMostOfRange) return {};
  for (int64_t i = begin; i <= end; ++i) integers.emplace_back(i);
  return integers;
}

// Returns one scalar, or those of a range; empty if the field does not accept the value.
std::vector<Scalar> scalars_of(const FieldSpec& field, const Value& value) {
  if (std::optional<Scalar> scalar = accept(field, value)) return {*std::move(scalar)};
  return integers_of_range(field, value);
}

Scalars read_list(ReadContext& context, const FieldSpec& field, const std::string& key, const Value& value) {
  if (is_list_of_one(value)) {
    if (std::vector<Scalar> scalars = scalars_of(field, value); !scalars.empty()) return scalars;
  }
  const bool lacks_items = field.emptiness == FieldSpec::Emptiness::kRefused && value.items.empty();
  if (!value.is_sequence() || lacks_items) {
    complain_value(context, field, key, value);
    return std::nullopt;
  }
  std::vector<Scalar> scalars;
  bool are_all_fine = true;
  for (size_t i = 0; i < value.items.size(); ++i) {
    const std::vector<Scalar> of_item = scalars_of(field, value.items[i]);
    scalars.insert(scalars.end(), of_item.begin(), of_item.end());
    if (!of_item.empty()) continue;
    complain_item(context, field, key, i + 1, value.items[i]);
    are_all_fine = false;
  }
  return are_all_fine ? Scalars(std::move(scalars)) : std::nullopt;
}

Scalars read_field(ReadContext& context, const FieldSpec& field, const std::string& key, const Value& value) {
  if (field.arity == Arity::kList) return read_list(context, field, key, value);
  if (field.arity == Arity::kOptional && value.is_null()) return std::vector<Scalar>{};
  if (std::optional<Scalar> scalar = accept(field, value)) {
    if (const auto now = field.former.find(value.text); now != field.former.end())
      context.findings().note(
          value.place, fmt::format("{0}: {1} is now a part of {2}: write {0}: {2}", key, now->first, now->second));
    return std::vector<Scalar>{*std::move(scalar)};
  }
  complain_value(context, field, key, value);
  return std::nullopt;
}

void complain_unknown_keys(ReadContext& context, const StructSpec& spec, const Value& value,
                           const std::string& prefix) {
  Listing listing = Listing::kOfKeys;
  const bool takes_sweep = prefix.empty() && spec.sweep == StructSpec::Sweep::kTaken;
  for (const Member& member : value.members) {
    const bool is_sweep = takes_sweep && member.key == kSweepKey;
    if (spec.find(member.key) || is_sweep) continue;
    const UnknownKey unknown = explain_unknown_key(context.root(), spec, prefix, member.key, listing);
    if (unknown.lists_keys) listing = Listing::kNone;
    context.findings().add(member.key_place, unknown.message);
    if (!unknown.meant.empty()) context.mark_wrong(unknown.meant);
  }
}

// Explains "epochs:5" or "epochs: 5" in place of a map: the shell has removed the braces from an argument.
std::string map_hint(const std::string& key, const Value& value) {
  const size_t colon = value.is_scalar() ? value.text.find(':') : std::string::npos;
  if (colon == std::string::npos || colon == 0) return "";
  const std::string inner_key(trim(value.text.substr(0, colon)));
  const std::string inner(trim(value.text.substr(colon + 1)));
  constexpr size_t kMostShown = 60;
  if (value.text.size() > kMostShown || !is_plain_safe(inner_key) || !is_plain_safe(inner)) return "";
  if (value.place.argument == 0) return fmt::format(" (write {{{}: {}}})", inner_key, inner);
  return fmt::format(" (write {}.{}={}, or the whole argument in quotes if it had braces)", key, inner_key, inner);
}

void complain_no_map(ReadContext& context, const Value& value, const std::string& prefix) {
  const std::string key = prefix.substr(0, prefix.size() - 1);
  context.findings().add(value.place,
                         fmt::format("{}: got {}, expected a map of keys{}", key, shown(value), map_hint(key, value)));
  context.mark_wrong(key);
}

// `value` is null if the group is absent: its rules still apply to the defaults.
void read_group(ReadContext& context, const StructSpec& spec, void* object, const Value& value,
                const std::string& prefix) {
  if (!value.is_map() && !value.is_null()) return complain_no_map(context, value, prefix);
  complain_unknown_keys(context, spec, value, prefix);
  for (const Entry& entry : spec.entries) {
    const Member* member = find_member(value, entry.key);
    const std::string key = prefix + entry.key;
    if (const GroupSpec* group = entry.group()) {
      read_group(context, *group->spec, group->member(object), member ? member->value : Value{}, key + ".");
    } else if (member && entry.map_form && !member->value.members.empty()) {
      read_group(context, *entry.map_form->spec, entry.map_form->member(object), member->value, key + ".");
    } else if (member) {
      if (const Scalars scalars = read_field(context, *entry.field(), key, member->value))
        entry.field()->set(object, *scalars);
    }
  }
}

void run_rules(ReadContext& context, const StructSpec& spec, const void* object, const std::string& prefix) {
  for (const Entry& entry : spec.entries)
    if (const GroupSpec* group = entry.map())
      run_rules(context, *group->spec, group->const_member(object), prefix + entry.key + ".");
  for (const auto& rule : spec.rules) {
    Checker checker(context, spec, prefix);
    rule(object, checker);
  }
}

}  // namespace

void read_struct(const Document& document, const StructSpec& spec, void* object, Findings& findings) {
  ReadContext context(document, spec, findings);
  read_group(context, spec, object, document.root(), "");
  if (document.is_whole()) run_rules(context, spec, object, "");
}

}  // namespace rnnlab::config
