// All keys of a schema as plain text and as a Markdown page.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/expectation.h"
#include "config/field_text.h"
#include "config/schema.h"

namespace rnnlab::config {

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
  return {prefix + entry.key, one_line(expectation(field)), default_text(field, defaults), meaning(entry)};
}

void collect_rows(const StructSpec& spec, const std::string& prefix, const void* defaults, std::vector<Row>& rows) {
  for (const Entry& entry : spec.entries) {
    rows.push_back(row_of(entry, prefix, defaults));
    if (const GroupSpec* group = entry.group())
      collect_rows(*group->spec, prefix + entry.key + ".", group->const_member(defaults), rows);
  }
}

std::string describe_row(const Row& row, size_t key_width) {
  const std::string initial = row.initial.empty() ? "" : fmt::format(" (default {})", row.initial);
  return fmt::format("{:<{}}  {}\n{:<{}}  {}{}\n", row.key, key_width, row.meaning, "", key_width, row.takes, initial);
}

// A cell ends at '|', in code too.
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
    const GroupSpec* group = entry.group();
    if (!group) continue;
    page += fmt::format("\n## `{}{}`: {}\n", prefix, entry.key, one_line(entry.help));
    append_section(page, *group->spec, prefix + entry.key + ".", group->const_member(defaults));
  }
}

}  // namespace

std::string describe_struct(const StructSpec& spec, const void* defaults) {
  std::vector<Row> rows;
  collect_rows(spec, "", defaults, rows);
  size_t key_width = 0;
  for (const Row& row : rows) key_width = std::max(key_width, row.key.size());
  std::string text = one_line(spec.title) + "\n\n";
  for (const Row& row : rows) text += describe_row(row, key_width);
  return text;
}

std::string markdown_struct(const StructSpec& spec, const void* defaults) {
  std::string page = fmt::format("# {}\n", one_line(spec.title));
  append_section(page, spec, "", defaults);
  return page;
}

}  // namespace rnnlab::config
