#include <fmt/format.h>

#include "base/text.h"
#include "config/expectation.h"
#include "config/read_context.h"
#include "config/schema.h"
#include "config/sweep.h"
#include "config/unknown_key.h"

namespace rnnlab::config {

namespace {

std::string list_hint(const Value& value) {
  const std::string shown_text = in_quotes(value.text);
  return fmt::format(" (write [{}])", std::string_view(shown_text).substr(1, shown_text.size() - 2));
}

void complain_value(ReadContext& context, const FieldSpec& field, const std::string& key, const Value& value) {
  const bool wants_list = field.arity == Arity::kList && value.is_scalar();
  context.findings().add(value.place, fmt::format("{}: got {}, expected {}{}", key, shown(value), expectation(field),
                                                  wants_list ? list_hint(value) : hint(field, value)));
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
  for (const Member& member : value.members) {
    const bool is_sweep = prefix.empty() && member.key == kSweepKey;
    if (spec.find(member.key) || is_sweep) continue;
    const UnknownKey unknown = explain_unknown_key(context.root(), spec, prefix, member.key);
    context.findings().add(member.key_place, unknown.message);
    if (!unknown.meant.empty()) context.mark_wrong(unknown.meant);
  }
}

void complain_no_map(ReadContext& context, const Value& value, const std::string& prefix) {
  const std::string key = prefix.substr(0, prefix.size() - 1);
  context.findings().add(value.place, fmt::format("{}: got {}, expected a map of keys", key, shown(value)));
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
