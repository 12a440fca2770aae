#include "config/value.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "config/yaml_text.h"

namespace rnnlab::config {

const Member* find_member(const Value& value, std::string_view key) {
  const auto found =
      std::find_if(value.members.begin(), value.members.end(), [&](const Member& m) { return m.key == key; });
  return found == value.members.end() ? nullptr : &*found;
}

Member* find_member(Value& value, std::string_view key) {
  return const_cast<Member*>(find_member(std::as_const(value), key));
}

const Member* find_path(const Value& root, std::string_view dotted_key) {
  const Value* value = &root;
  const Member* member = nullptr;
  for (const std::string& part : split(dotted_key, '.')) {
    member = find_member(*value, part);
    if (!member) return nullptr;
    value = &member->value;
  }
  return member;
}

bool is_key_below(std::string_view key, std::string_view group) {
  return key.size() > group.size() && key.starts_with(group) && key[group.size()] == '.';
}

std::string shown(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "nothing";
    case Value::Kind::kSequence:
      return value.items.empty() ? "an empty list" : "a list";
    case Value::Kind::kMap:
      return "a map";
    case Value::Kind::kScalar:
      break;
  }
  return (value.style == Value::Style::kQuoted ? "the text " : "") + in_quotes(value.text);
}

namespace {

std::string join_members(const std::vector<Member>& members) {
  std::vector<std::string> parts;
  for (const Member& member : members) parts.push_back(yaml_text(member.key) + ": " + to_flow(member.value));
  return join(parts, ", ");
}

}  // namespace

std::string flow_items(const std::vector<Value>& items) {
  std::vector<std::string> parts;
  for (const Value& item : items) parts.push_back(to_flow(item));
  return join(parts, ", ");
}

std::string to_flow(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kSequence:
      return "[" + flow_items(value.items) + "]";
    case Value::Kind::kMap:
      return "{" + join_members(value.members) + "}";
    case Value::Kind::kScalar:
      break;
  }
  const bool keeps_style = value.style == Value::Style::kPlain && is_plain_safe(value.text);
  return keeps_style ? value.text : double_quoted(value.text);
}

size_t count_values(const Value& value) {
  size_t count = 1;
  for (const Value& item : value.items) count += count_values(item);
  for (const Member& member : value.members) count += count_values(member.value);
  return count;
}

}  // namespace rnnlab::config
