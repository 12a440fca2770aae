#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/expectation.h"
#include "config/read_context.h"
#include "config/schema.h"
#include "config/sweep.h"
#include "config/unknown_key.h"
#include "config/yaml_text.h"

namespace rnnlab::config {

namespace {

std::string list_hint(const Value& value) {
  const std::string shown_text = in_quotes(value.text);
  return fmt::format(" (write [{}])", std::string_view(shown_text).substr(1, shown_text.size() - 2));
}

// What the value holds as a list, be it "naive,fused" or [naive, fused].
std::vector<Value> items_meant(const Value& value) {
  if (!value.is_scalar()) return value.items;
  std::vector<Value> items;
  for (const std::string& part : split(value.text, ',')) {
    items.push_back(value);
    items.back().text = trim(part);
  }
  return items;
}

// Several values where one is wanted: probably a run for each.
std::string sweep_hint(const ReadContext& context, const FieldSpec& field, const std::string& key, const Value& value) {
  const std::vector<Value> items = items_meant(value);
  const auto is_fine = [&](const Value& item) { return accept(field, item).has_value(); };
  if (context.root().sweep == StructSpec::Sweep::kRefused || field.arity == Arity::kList || items.size() < 2) return "";
  const std::string list = flow_items(items);
  constexpr size_t kMostShown = 80;
  if (!std::ranges::all_of(items, is_fine) || list.size() > kMostShown) return "";
  return value.place.argument > 0
             ? fmt::format(" (for a run of each write '{}.{}=[{}]', with the quotes)", kSweepKey, key, list)
             : fmt::format(" (for a run of each write {}: {{{}: [{}]}})", kSweepKey, key, list);
}

std::string value_hint(const ReadContext& context, const FieldSpec& field, const std::string& key, const Value& value) {
  if (field.arity == Arity::kList && value.is_scalar()) return list_hint(value);
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
  context.findings().add(item.place, fmt::format("{}, item {}: got {}, expected {}{}", key, number, shown(item),
                                                 expected_item(field), hint(field, item)));
  context.mark_wrong(key);
}

using Scalars = std::optional<std::vector<Scalar>>;

Scalars read_list(ReadContext& context, const FieldSpec& field, const std::string& key, const Value& value) {
  const bool lacks_items = field.emptiness == FieldSpec::Emptiness::kRefused && value.items.empty();
  if (!value.is_sequence() || lacks_items) {
    complain_value(context, field, key, value);
    return std::nullopt;
  }
  std::vector<Scalar> scalars;
  for (size_t i = 0; i < value.items.size(); ++i) {
    const std::optional<Scalar> scalar = accept(field, value.items[i]);
    if (scalar)
      scalars.push_back(*scalar);
    else
      complain_item(context, field, key, i + 1, value.items[i]);
  }
  return scalars.size() == value.items.size() ? Scalars(std::move(scalars)) : std::nullopt;
}

Scalars read_field(ReadContext& context, const FieldSpec& field, const std::string& key, const Value& value) {
  if (field.arity == Arity::kList) return read_list(context, field, key, value);
  if (field.arity == Arity::kOptional && value.is_null()) return std::vector<Scalar>{};
  if (std::optional<Scalar> scalar = accept(field, value)) return std::vector<Scalar>{*std::move(scalar)};
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

// "epochs:5" or "epochs: 5" in place of a map: what an argument comes to when the shell takes its braces away.
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

// `value` is null where the group is absent: its rules still hold for the defaults.
void read_group(ReadContext& context, const StructSpec& spec, void* object, const Value& value,
                const std::string& prefix) {
  if (!value.is_map() && !value.is_null()) return complain_no_map(context, value, prefix);
  complain_unknown_keys(context, spec, value, prefix);
  for (const Entry& entry : spec.entries) {
    const Member* member = find_member(value, entry.key);
    const std::string key = prefix + entry.key;
    if (const GroupSpec* group = entry.group()) {
      read_group(context, *group->spec, group->member(object), member ? member->value : Value{}, key + ".");
    } else if (member) {
      if (const Scalars scalars = read_field(context, *entry.field(), key, member->value))
        entry.field()->set(object, *scalars);
    }
  }
}

void run_rules(ReadContext& context, const StructSpec& spec, const void* object, const std::string& prefix) {
  for (const Entry& entry : spec.entries)
    if (const GroupSpec* group = entry.group())
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
