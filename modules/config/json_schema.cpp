// A schema as JSON Schema (draft 2020-12, https://json-schema.org), by which editors complete and check files. It
// refuses nothing that read() takes; conditions of a field's own and rules over several keys are read()'s alone.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "config/field_text.h"
#include "config/repeats.h"
#include "config/schema.h"
#include "config/sweep.h"

namespace rnnlab::config {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Scalar& scalar) {
  return std::visit([](const auto& value) { return Json(value); }, scalar);
}

// A plain 10 or true is text too where a text is asked for.
Json type_names(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::kBool:
      return "boolean";
    case ScalarKind::kInteger:
      return "integer";
    case ScalarKind::kNumber:
      return "number";
    case ScalarKind::kChoice:
      return "string";
    case ScalarKind::kText:
      break;
  }
  return {"string", "number", "boolean"};
}

void add_bound(Json& json, const std::optional<Bound>& bound, const char* included, const char* excluded) {
  if (bound) json[bound->limit == Bound::Limit::kIncluded ? included : excluded] = to_json(bound->value);
}

Json item_schema(const FieldSpec& field) {
  Json json = {{"type", type_names(field.kind)}};
  if (field.kind == ScalarKind::kChoice) json["enum"] = field.choices;
  add_bound(json, field.lower, "minimum", "exclusiveMinimum");
  add_bound(json, field.upper, "maximum", "exclusiveMaximum");
  if (!field.word.empty()) return {{"anyOf", {std::move(json), {{"const", field.word}}}}};
  return json;
}

Json value_schema(const FieldSpec& field) {
  const bool refuses_empty = field.emptiness == FieldSpec::Emptiness::kRefused;
  Json item = item_schema(field);
  if (field.arity == Arity::kOptional) return {{"anyOf", {std::move(item), {{"type", "null"}}}}};
  if (field.arity == Arity::kOne) {
    if (refuses_empty) item["minLength"] = 1;
    return item;
  }
  Json list = {{"type", "array"}, {"items", std::move(item)}};
  if (refuses_empty) list["minItems"] = 1;
  return list;
}

Json default_value(const FieldSpec& field, const void* defaults) {
  Json list = Json::array();
  for (const Scalar& scalar : field.get(defaults)) list.push_back(to_json(scalar));
  if (field.arity == Arity::kList) return list;
  return list.empty() ? Json(nullptr) : list[0];
}

Json field_schema(const Entry& entry, const void* defaults) {
  const FieldSpec& field = *entry.field();
  Json json = value_schema(field);
  json["default"] = default_value(field, defaults);
  json["description"] = fmt::format("{} ({})", meaning(entry), limits_text(field, defaults));
  return json;
}

// A group may be left empty, which YAML reads as null.
Json group_schema(const StructSpec& spec, const void* defaults) {
  Json properties = Json::object();
  for (const Entry& entry : spec.entries) {
    const GroupSpec* group = entry.group();
    properties[entry.key] =
        group ? group_schema(*group->spec, group->const_member(defaults)) : field_schema(entry, defaults);
    if (group) properties[entry.key]["description"] = one_line(entry.help);
  }
  return {{"type", {"object", "null"}}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

void add_axes(Json& axes, const StructSpec& spec, const std::string& prefix) {
  for (const Entry& entry : spec.entries) {
    if (const GroupSpec* group = entry.group())
      add_axes(axes, *group->spec, prefix + entry.key + ".");
    else
      axes[prefix + entry.key] = {{"type", "array"}, {"items", value_schema(*entry.field())}, {"minItems", 1}};
  }
}

// Dotted keys; nested maps are allowed and not looked into.
Json sweep_schema(const StructSpec& spec) {
  Json axes = Json::object();
  add_axes(axes, spec, "");
  return {{"type", {"object", "null"}},
          {"properties", std::move(axes)},
          {"additionalProperties", {{"type", "object"}}},
          {"description", "every combination of the listed values is a run of its own"}};
}

Json repeats_schema() {
  const Json count = {{"type", "integer"}, {"minimum", 1}, {"maximum", kMostRepeats}};
  const Json until = {{"type", {"string", "number"}}, {"description", "half of the interval's width, such as 1 %"}};
  const Json map = {
      {"type", "object"}, {"properties", {{"until", until}, {"at_most", count}}}, {"additionalProperties", false}};
  return {{"oneOf", {count, map, {{"type", "null"}}}},
          {"description", "how often each case is measured, each time in a process of its own"}};
}

}  // namespace

std::string json_schema_struct(const StructSpec& spec, const void* defaults) {
  Json json = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", one_line(spec.title)}};
  json.update(group_schema(spec, defaults));
  json["properties"][std::string(kSweepKey)] = sweep_schema(spec);
  json["properties"][std::string(kRepeatsKey)] = repeats_schema();
  return json.dump(2) + "\n";
}

}  // namespace rnnlab::config
