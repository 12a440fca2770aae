// All keys of a schema as plain text and as a Markdown page.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/expectation.h"
#include "config/field_text.h"
#include "config/repeats.h"
#include "config/schema.h"
#include "config/sweep.h"

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

constexpr const char* kSweepMeaning = "every combination of the listed values is a run of its own";
constexpr const char* kRepeatsMeaning = "how often each case is measured, each time in a process of its own";

// Of the keys at the top of a file that are in no struct.
std::vector<Row> rows_around(const StructSpec& spec) {
  if (spec.sweep == StructSpec::Sweep::kRefused) return {};
  return {{std::string(kSweepKey), "a map of keys, each with a list of values", "none", kSweepMeaning},
          {std::string(kRepeatsKey),
           fmt::format("a whole number from 1 to {}, or a map such as {{until: 1 %, at_most: 20}}", kMostRepeats), "1",
           kRepeatsMeaning}};
}

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
| `until` | no more rounds once every interval reaches at most this part of its value to each side; from round {fewest} on | `none` | a part between 0 and 1, such as 1 % or 0.01 |
| `at_most` | rounds | `{usual}` | a whole number from 1 to {most} |
)";

std::string sections_around(const StructSpec& spec) {
  if (spec.sweep == StructSpec::Sweep::kRefused) return "";
  return fmt::format(kSweepSection, fmt::arg("key", kSweepKey), fmt::arg("meaning", kSweepMeaning),
                     fmt::arg("keys", kMaxSweepKeys), fmt::arg("cases", kMaxSweepCases)) +
         fmt::format(kRepeatsSection, fmt::arg("key", kRepeatsKey), fmt::arg("meaning", kRepeatsMeaning),
                     fmt::arg("most", kMostRepeats), fmt::arg("fewest", kFewestUntil),
                     fmt::arg("usual", kUsualMostRepeats));
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

}  // namespace rnnlab::config
