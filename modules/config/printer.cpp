// An object as commented YAML: "key: value  # meaning [unit] (default x; what it takes)".
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/expectation.h"
#include "config/field_text.h"
#include "config/schema.h"

namespace rnnlab::config {

namespace {

struct Line {
  std::string content;
  std::string comment;
};

std::string padded(const std::string& text, size_t width) {
  return text + std::string(width - std::min(width, display_width(text)), ' ');
}

// An absent optional is a comment, unless its default is a value, which only null takes back.
Line field_line(const Entry& entry, const void* object, const void* defaults) {
  const FieldSpec& field = *entry.field();
  const bool is_absent = field.arity == Arity::kOptional && field.get(object).empty() && field.get(defaults).empty();
  const std::string content =
      is_absent ? fmt::format("# {}:", entry.key) : fmt::format("{}: {}", entry.key, value_text(field, object));
  return {content, fmt::format("{} ({})", meaning(entry), limits_text(field, defaults))};
}

// The comment goes on below itself where it is long, and stands above the key where its value leaves too little room.
void append_line(std::string& text, const std::string& indent, const Line& line, size_t width) {
  constexpr size_t kMostColumns = 120, kFewestForComment = 40;
  const std::string mark = "  # ";
  const size_t before = indent.size() + std::max(width, display_width(line.content));
  const bool is_above = before + mark.size() + std::min(kFewestForComment, display_width(line.comment)) > kMostColumns;
  if (is_above) {
    for (const std::string& piece : wrap(line.comment, kMostColumns - std::min(kMostColumns, indent.size() + 2)))
      text += fmt::format("{}# {}\n", indent, piece);
    text += indent + line.content + "\n";
    return;
  }
  std::string content = indent + line.content;
  for (const std::string& piece : wrap(line.comment, kMostColumns - before - mark.size())) {
    text += padded(content, before) + mark + piece + "\n";
    content.clear();
  }
}

void print_group(std::string& text, const StructSpec& spec, const void* object, const void* defaults,
                 const std::string& indent) {
  constexpr size_t kWidest = 40;  // a longer value pushes its own comment only
  std::vector<Line> lines;
  size_t width = 0;
  for (const Entry& entry : spec.entries) {
    lines.push_back(entry.field() ? field_line(entry, object, defaults) : Line{entry.key + ":", one_line(entry.help)});
    if (const size_t line_width = display_width(lines.back().content); line_width <= kWidest)
      width = std::max(width, line_width);
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    append_line(text, indent, lines[i], width);
    if (const GroupSpec* group = spec.entries[i].group())
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

}  // namespace rnnlab::config
