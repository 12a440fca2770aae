// SPDX-License-Identifier: Apache-2.0
// Writes settings, and their schema (schema.h), for people and for editors.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/config/schema.h"
#include "base/config/sweep.h"
#include "base/system/terminal.h"
#include "base/text.h"

namespace rnnlab::config {

namespace {

// Replaces line ends by spaces, because help and titles are written into comments and tables.
std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

// Returns the value of the field in `object` as YAML: "3", "[64, 32]", "null".
std::string value_text(const FieldSpec& field, const void* object) {
  std::vector<std::string> parts;
  for (const Scalar& scalar : field.get(object)) parts.push_back(scalar_text(scalar));
  const bool has_brackets = field.arity == Arity::kList && !(field.is_one_plain && parts.size() == 1);
  if (has_brackets) return "[" + join(parts, ", ") + "]";
  return parts.empty() ? "null" : parts[0];
}

// Returns a text such as "passes over the training data [epochs]".
std::string meaning(const Entry& entry) {
  const std::string& unit = entry.field()->unit;
  return one_line(unit.empty() ? entry.help : fmt::format("{} [{}]", entry.help, unit));
}

// Returns a text such as "default 3; at least 1".
std::string limits_text(const FieldSpec& field, const void* defaults) {
  const std::string value = value_text(field, defaults);
  const std::string takes = field.arity == Arity::kOne ? constraints(field) : expectation(field);
  return one_line(fmt::format("default {}{}{}", value == "null" ? "none" : value, takes.empty() ? "" : "; ", takes));
}

// The functions below print an object as commented YAML: "key: value  # meaning [unit] (default x; accepted values)".

struct Line {
  std::string content;
  std::string comment;
  std::vector<std::string> block = {};  // the lines of a value that is written as a block, below the key
};

// Returns the lines of a text that ends each of them, such as equations; none if a block would not be the same text.
std::vector<std::string> lines_of_block(const FieldSpec& field, const void* object) {
  const std::vector<Scalar> values = field.get(object);
  const auto* text = field.arity == Arity::kList || values.empty() ? nullptr : std::get_if<std::string>(&values[0]);
  if (text == nullptr || !text->ends_with('\n')) return {};
  std::vector<std::string> lines = split(text->substr(0, text->size() - 1), '\n');
  const auto is_printable = [](const std::string& line) {
    return std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; });
  };
  // The first line decides how far a block is indented, and lines at its end that are empty are left out.
  const bool has_border = !lines.back().empty() && !lines.front().empty() && !lines.front().starts_with(' ');
  return has_border && std::ranges::all_of(lines, is_printable) ? lines : std::vector<std::string>();
}

// An absent optional is printed as a comment, unless its default is a value: then null is printed, because only null
// restores the absent state.
Line field_line(const Entry& entry, const void* object, const void* defaults) {
  const FieldSpec& field = *entry.field();
  const bool is_absent = field.arity == Arity::kOptional && field.get(object).empty() && field.get(defaults).empty();
  std::vector<std::string> block = lines_of_block(field, object);
  const std::string value = block.empty() ? value_text(field, object) : "|";
  const std::string content = is_absent ? fmt::format("# {}:", entry.key) : fmt::format("{}: {}", entry.key, value);
  return {content, fmt::format("{} ({})", meaning(entry), limits_text(field, defaults)), std::move(block)};
}

// A long comment continues on the lines below. The comment is placed above the key if the value is a block or leaves
// too little room.
void append_line(std::string& text, const std::string& indent, const Line& line, size_t width) {
  constexpr size_t kMostColumns = 120, kFewestForComment = 40;
  const std::string mark = "  # ";
  const size_t before = indent.size() + std::max(width, display_width(line.content));
  const bool is_above = !line.block.empty() ||
                        before + mark.size() + std::min(kFewestForComment, display_width(line.comment)) > kMostColumns;
  if (is_above) {
    for (const std::string& piece : wrap(line.comment, kMostColumns - std::min(kMostColumns, indent.size() + 2)))
      text += fmt::format("{}# {}\n", indent, piece);
    text += indent + line.content + "\n";
    for (const std::string& one : line.block) text += one.empty() ? "\n" : indent + "  " + one + "\n";
    return;
  }
  std::string content = indent + line.content;
  for (const std::string& piece : wrap(line.comment, kMostColumns - before - mark.size())) {
    text += padded(content, before, Align::kLeft) + mark + piece + "\n";
    content.clear();
  }
}

// Returns the group that is printed for the entry: of a field, its map form if that was given.
const GroupSpec* printed_group(const Entry& entry, const void* object, const void* defaults) {
  if (!entry.map_form) return entry.group();
  return entry.map_form->has_defaults(object, defaults) ? nullptr : &*entry.map_form;
}

void print_group(std::string& text, const StructSpec& spec, const void* object, const void* defaults,
                 const std::string& indent) {
  constexpr size_t kWidest = 40;  // a longer value shifts only its own comment
  std::vector<Line> lines;
  size_t width = 0;
  for (const Entry& entry : spec.entries) {
    lines.push_back(printed_group(entry, object, defaults) ? Line{entry.key + ":", one_line(entry.help)}
                                                           : field_line(entry, object, defaults));
    if (const size_t line_width = display_width(lines.back().content); line_width <= kWidest)
      width = std::max(width, line_width);
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    append_line(text, indent, lines[i], width);
    if (const GroupSpec* group = printed_group(spec.entries[i], object, defaults))
      print_group(text, *group->spec, group->const_member(object), group->const_member(defaults), indent + "  ");
  }
}

}  // namespace

std::string print_struct(const StructSpec& spec, const void* object, const void* defaults) {
  std::string text = fmt::format("# {}\n", one_line(spec.title));
  const bool sets_nothing = spec.entries.empty();
  print_group(text, spec, object, defaults, "");
  return sets_nothing ? text + "{}\n" : text;
}

// The functions below describe all keys of a schema as plain text and as a Markdown page.

namespace {

struct Row {
  std::string key;  // dotted
  std::string takes;
  std::string initial;
  std::string meaning;
};

std::string default_text(const FieldSpec& field, const void* defaults) {
  const std::string text = value_text(field, defaults);
  return text == "null" ? "none" : text;
}

Row row_of(const Entry& entry, const std::string& prefix, const void* defaults) {
  if (entry.group()) return {prefix + entry.key, "a map of keys", "", one_line(entry.help)};
  const FieldSpec& field = *entry.field();
  const char* or_map = entry.map_form ? ", or a map of keys" : "";
  return {prefix + entry.key, one_line(expectation(field)) + or_map, default_text(field, defaults), meaning(entry)};
}

void collect_rows(const StructSpec& spec, const std::string& prefix, const void* defaults, std::vector<Row>& rows) {
  for (const Entry& entry : spec.entries) {
    rows.push_back(row_of(entry, prefix, defaults));
    if (const GroupSpec* group = entry.map())
      collect_rows(*group->spec, prefix + entry.key + ".", group->const_member(defaults), rows);
  }
}

constexpr const char* kSweepMeaning = "each combination of the listed values is a separate run";
constexpr const char* kBaseMeaning = "another file, whose keys this file takes over";
constexpr const char* kRepeatsMeaning = "how often each case is measured, each time in a new process";

// Returns the rows of the keys that are accepted at the top of a file but do not belong to a struct.
std::vector<Row> rows_around(const StructSpec& spec) {
  if (spec.sweep == StructSpec::Sweep::kRefused) return {};
  return {{std::string(kBaseKey), "a path, relative to the folder of this file", "none", kBaseMeaning},
          {std::string(kSweepKey), "a map of keys, each with a list of values", "none", kSweepMeaning},
          {std::string(kRepeatsKey),
           fmt::format("a whole number from 1 to {}, or a map such as {{until: 1 %, at_most: 20}}", kMostRepeats), "1",
           kRepeatsMeaning}};
}

constexpr const char* kBaseSection = R"(
## `{key}`: {meaning}

```yaml
{key}: mnist_rows.yaml
name: mnist_rows_wide
model: {{hidden_size: 512}}
```

This is the experiment of the other file, with another name and size. The path counts from the
folder of this file. Maps are merged key by key; lists and other values are replaced, and `sweep` is
replaced as a whole. `~` takes a key out, so that it has its default: `clip_norm: ~`. The other file
has no `{key}` itself. A relative `data.path` counts as if it were written in this file. The command
line cannot set this key, and the `config.yaml` of a run does not have it.
)";

constexpr const char* kSweepSection = R"(
## `{key}`: {meaning}

```yaml
{key}:
  layer: [naive, fused]
  training.batch_size: [64, 128]
```

These are four runs. A key is any other one of this page, dotted as here or in nested maps, and
takes a list of at least one value. The last key varies fastest. There are at most {keys} keys and
{cases} combinations. On the command line: `"{key}={{layer: [naive, fused]}}"`. A key that the
command line gives a value leaves the sweep.

```yaml
{key}:
  training.learning_rate: {{log_uniform: [1e-4, 1e-2]}}
  model.hidden_size: {{int_log_uniform: [32, 512]}}
  model.cell: [lstm, gru]
  {num_runs}: 20
```

With `{num_runs}`, the runs do not have all combinations, but values that are drawn by `seed`: between
two numbers by `uniform`, `log_uniform`, `int_uniform` and `int_log_uniform`, and from a list. The
same file draws the same values again, and a larger `{num_runs}` adds runs to them. An item of a list
can be drawn more than once. If the command line gives each of these keys a value, `{num_runs}` has no
effect: there is one run. `rnnlab rank` says which runs are best.
)";

constexpr const char* kRepeatsSection = R"(
## `{key}`: {meaning}

```yaml
{key}: {{until: 1 %, at_most: 20}}
```

Or a whole number from 1 to {most}, as in `{key}: 5`. 1 is the default and starts no other process.
The cases of a `sweep` take turns in each round. On the command line: `{key}=5`.

| key | meaning | default | takes |
|---|---|---|---|
| `until` | stop once the half width of every interval is at most this part of its value; checked from round {fewest} on | `none` | a part between 0 and 1, such as 1 % or 0.01 |
| `at_most` | rounds | `{usual}` | a whole number from 1 to {most} |
)";

std::string sections_around(const StructSpec& spec) {
  if (spec.sweep == StructSpec::Sweep::kRefused) return "";
  return fmt::format(kBaseSection, fmt::arg("key", kBaseKey), fmt::arg("meaning", kBaseMeaning)) +
         fmt::format(kSweepSection, fmt::arg("key", kSweepKey), fmt::arg("meaning", kSweepMeaning),
                     fmt::arg("keys", kMaxSweepKeys), fmt::arg("cases", kMaxSweepCases),
                     fmt::arg("num_runs", kNumRunsKey)) +
         fmt::format(kRepeatsSection, fmt::arg("key", kRepeatsKey), fmt::arg("meaning", kRepeatsMeaning),
                     fmt::arg("most", kMostRepeats), fmt::arg("fewest", kFewestUntil),
                     fmt::arg("usual", kUsualMostRepeats));
}

std::string describe_row(const Row& row, size_t key_width) {
  const std::string initial = row.initial.empty() ? "" : fmt::format(" (default {})", row.initial);
  return fmt::format("{:<{}}  {}\n{:<{}}  {}{}\n", row.key, key_width, row.meaning, "", key_width, row.takes, initial);
}

// The character '|' ends a cell, even in code.
std::string cell(std::string text) {
  for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.insert(at, "\\");
  return text;
}

void append_section(std::string& page, const StructSpec& spec, const std::string& prefix, const void* defaults) {
  std::string table;
  for (const Entry& entry : spec.entries) {
    if (!entry.field()) continue;
    const Row row = row_of(entry, "", defaults);
    table += fmt::format("| `{}` | {} | `{}` | {} |\n", row.key, cell(row.meaning), cell(row.initial), cell(row.takes));
  }
  if (!table.empty()) page += "\n| key | meaning | default | takes |\n|---|---|---|---|\n" + table;
  for (const Entry& entry : spec.entries) {
    const GroupSpec* group = entry.map();
    if (!group) continue;
    page += fmt::format("\n## `{}{}`: {}\n", prefix, entry.key, one_line(entry.help));
    append_section(page, *group->spec, prefix + entry.key + ".", group->const_member(defaults));
  }
}

}  // namespace

std::string describe_struct(const StructSpec& spec, const void* defaults) {
  std::vector<Row> rows;
  collect_rows(spec, "", defaults, rows);
  for (Row& row : rows_around(spec)) rows.push_back(std::move(row));
  size_t key_width = 0;
  for (const Row& row : rows) key_width = std::max(key_width, row.key.size());
  std::string text = one_line(spec.title) + "\n\n";
  for (const Row& row : rows) text += describe_row(row, key_width);
  return text;
}

std::string markdown_struct(const StructSpec& spec, const void* defaults) {
  std::string page = fmt::format("# {}\n", one_line(spec.title));
  append_section(page, spec, "", defaults);
  return page + sections_around(spec);
}

// The functions below print a schema as JSON Schema (draft 2020-12, https://json-schema.org), with which editors
// complete and check files. It accepts every file that read() accepts, without names of earlier versions. Only read()
// checks the conditions of fields and the rules over several keys.

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Scalar& scalar) {
  return std::visit([](const auto& value) { return Json(value); }, scalar);
}

// A plain 10 or true is also accepted as text.
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
  Json list = {{"type", "array"}, {"items", item}};
  if (refuses_empty) list["minItems"] = 1;
  if (field.is_one_plain) return {{"anyOf", {std::move(item), std::move(list)}}};
  return list;
}

Json default_value(const FieldSpec& field, const void* defaults) {
  Json list = Json::array();
  for (const Scalar& scalar : field.get(defaults)) list.push_back(to_json(scalar));
  const bool is_plain = field.is_one_plain && list.size() == 1;
  if (field.arity == Arity::kList && !is_plain) return list;
  return list.empty() ? Json(nullptr) : list[0];
}

Json field_schema(const Entry& entry, const void* defaults) {
  const FieldSpec& field = *entry.field();
  Json json = value_schema(field);
  json["default"] = default_value(field, defaults);
  json["description"] = fmt::format("{} ({})", meaning(entry), limits_text(field, defaults));
  return json;
}

// A group may be empty in the file; YAML reads an empty group as null.
Json group_schema(const StructSpec& spec, const void* defaults) {
  Json properties = Json::object();
  for (const Entry& entry : spec.entries) {
    const GroupSpec* group = entry.group();
    properties[entry.key] =
        group ? group_schema(*group->spec, group->const_member(defaults)) : field_schema(entry, defaults);
    if (entry.map_form) {
      const GroupSpec& map = *entry.map_form;
      properties[entry.key] = {
          {"anyOf", {std::move(properties[entry.key]), group_schema(*map.spec, map.const_member(defaults))}}};
    }
    if (group) properties[entry.key]["description"] = one_line(entry.help);
  }
  return {{"type", {"object", "null"}}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

// The keys are dotted. Nested maps are accepted and not checked.
Json sweep_schema(const StructSpec& spec) {
  Json axes = Json::object();
  for (const auto& [key, entry] : spec.all_entries())
    if (const FieldSpec* field = entry->field())
      axes[key]["oneOf"] =
          Json::array({{{"type", "array"}, {"items", value_schema(*field)}, {"minItems", 1}},
                       {{"type", "object"}, {"description", "a distribution, such as {uniform: [0, 1]}"}}});
  axes[std::string(kNumRunsKey)] = {{"type", "integer"}, {"minimum", 1}, {"maximum", kMaxSweepCases}};
  return {{"type", {"object", "null"}},
          {"properties", std::move(axes)},
          {"additionalProperties", {{"type", "object"}}},
          {"description", kSweepMeaning}};
}

Json repeats_schema() {
  const Json count = {{"type", "integer"}, {"minimum", 1}, {"maximum", kMostRepeats}};
  const Json until = {{"type", {"string", "number"}}, {"description", "half of the interval's width, such as 1 %"}};
  const Json map = {
      {"type", "object"}, {"properties", {{"until", until}, {"at_most", count}}}, {"additionalProperties", false}};
  return {{"oneOf", {count, map, {{"type", "null"}}}}, {"description", kRepeatsMeaning}};
}

}  // namespace

std::string json_schema_struct(const StructSpec& spec, const void* defaults) {
  Json json = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", one_line(spec.title)}};
  json.update(group_schema(spec, defaults));
  json["properties"][std::string(kBaseKey)] = {{"type", "string"}, {"description", kBaseMeaning}};
  json["properties"][std::string(kSweepKey)] = sweep_schema(spec);
  json["properties"][std::string(kRepeatsKey)] = repeats_schema();
  return json.dump(2) + "\n";
}

}  // namespace rnnlab::config
