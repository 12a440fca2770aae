// SPDX-License-Identifier: Apache-2.0
#include "base/config/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"

namespace rnnlab::config {

namespace {

Value empty_map(const std::string& source) {
  Value map;
  map.kind = Value::Kind::kMap;
  map.place = {.source = source};
  return map;
}

// A data file in the place of an experiment is a common mistake.
std::string advice_on_data_file(const std::string& source) {
  constexpr std::string_view kEndings[] = {".csv", ".tsv", ".txt"};
  const bool is_data = std::ranges::any_of(kEndings, [&](std::string_view ending) { return source.ends_with(ending); });
  return is_data ? "; for a file of data, `rnnlab data inspect " + source + " --yaml` writes an experiment" : "";
}

std::optional<Value> parse_file(std::string_view text, const std::string& source, Findings& findings) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.size() > kMaxFileBytes) {
    findings.add({.source = source}, fmt::format("more than {} bytes", kMaxFileBytes));
    return std::nullopt;
  }
  const LineMap lines(text, source);
  if (!is_clean_text(text, lines, findings)) return std::nullopt;
  if (const auto lookalike = first_lookalike(text)) {
    findings.add(lines.place_at(lookalike->offset), lookalike->message);
    return std::nullopt;
  }
  const auto place_of = [&](int line, int column) { return lines.place(line, column); };
  std::optional<Value> root = parse_yaml(text, place_of, findings);
  if (!root || root->is_map()) return root;
  const std::string got = root->is_null() ? "the file is empty" : fmt::format("got {}", shown(*root));
  findings.add(root->is_null() ? Place{.source = source} : root->place,
               got + ", expected keys, such as 'name: trial'" + advice_on_data_file(source));
  return std::nullopt;
}

bool is_yaml_notation(std::string_view text) {
  return !text.empty() && std::string_view("[{'\"").find(text[0]) != std::string_view::npos;
}

// The text is parsed as the value of a key, so that text after the value is an error, and so that an open bracket has
// its usual message.
std::optional<Value> parse_yaml_value(std::string_view text, const Place& place, Findings& findings) {
  std::optional<Value> map = parse_yaml(
      fmt::format("value: {}", text), [&](int, int) { return place; }, findings);
  if (!map) return std::nullopt;
  if (map->members.size() == 1) return std::move(map->members[0].value);
  findings.add(place, "unexpected text after the value");
  return std::nullopt;
}

std::optional<Value> parse_override_value(std::string_view text, const Place& place, Findings& findings) {
  if (const auto lookalike = first_lookalike(fmt::format("value: {}", text))) {
    findings.add(place, lookalike->message);
    return std::nullopt;
  }
  if (is_yaml_notation(text)) return parse_yaml_value(text, place, findings);
  Value value;
  value.place = place;
  if (text.empty() || text == "~" || text == "null") return value;
  value.kind = Value::Kind::kScalar;
  value.text = text;
  return value;
}

// Returns an error message about the key of an override, or "" for a valid key.
std::string complaint_about_key(std::string_view key) {
  if (key.empty()) return "no key before '='";
  if (const size_t bracket = key.find('['); bracket != std::string_view::npos)
    return fmt::format("items of a list cannot be set one by one; write {}=[...]", key.substr(0, bracket));
  for (const std::string& part : split(key, '.'))
    if (part.empty()) return fmt::format("key {} has an empty part", in_quotes(key));
  if (split(key, '.').size() > kMaxDepth)
    return fmt::format("key {} has more than {} parts", in_quotes(key), kMaxDepth);
  return "";
}

void collect_places(const Value& map, const std::string& prefix, std::map<std::string, Place>& places) {
  for (const Member& member : map.members) {
    places.insert_or_assign(prefix + member.key, member.value.place);
    collect_places(member.value, prefix + member.key + ".", places);
  }
}

std::string blocked_by(const Value& value, const std::string& path, std::string_view key) {
  if (value.is_sequence())
    return fmt::format("{} is a list ({}), whose items cannot be set one by one; write {}=[...]", path,
                       to_string(value.place), path);
  return fmt::format("{} cannot be set, because {} is {} ({})", in_quotes(key), in_quotes(path), shown(value),
                     to_string(value.place));
}

void merge(Value& base, Value own) {
  base.place = own.place;
  for (Member& member : own.members) {
    Member* const found = find_member(base, member.key);
    if (!found) {
      base.members.push_back(std::move(member));
    } else if (member.value.is_null()) {
      std::erase_if(base.members, [&](const Member& other) { return other.key == member.key; });
    } else if (found->value.is_map() && member.value.is_map() && member.key != kSweepKey) {
      found->key_place = member.key_place;
      merge(found->value, std::move(member.value));
    } else {
      *found = std::move(member);
    }
  }
}

// Returns the value of `base`, which the map then lacks; nullopt if it has none.
std::optional<Value> take_base(Value& root) {
  const Member* const found = find_member(root, kBaseKey);
  if (!found) return std::nullopt;
  Value base = found->value;
  std::erase_if(root.members, [](const Member& member) { return member.key == kBaseKey; });
  return base;
}

// The findings about a file that cannot be read are at the place that names it.
std::optional<std::string> read_base(const std::string& path, const Place& place, Findings& findings) {
  Findings own;
  std::optional<std::string> text = read_source(path, own);
  for (const std::string& line : own.lines()) findings.add(place, fmt::format("{}: {}", kBaseKey, line));
  return text;
}

}  // namespace

Document Document::read_file(const std::string& path, Findings& findings) {
  const std::optional<std::string> text = read_source(path, findings);
  return text ? from_text(*text, path, findings) : Document(path, empty_map(path), Wholeness::kOverridesOnly);
}

Document Document::from_file(const std::string& path, Findings& findings) {
  Document document = read_file(path, findings);
  document.refuse_base(findings);
  return document;
}

Document Document::from_file_with_base(const std::string& path, Findings& findings) {
  Document document = read_file(path, findings);
  document.add_base(findings);
  return document;
}

void Document::refuse_base(Findings& findings) {
  if (const std::optional<Value> name = take_base(root_))
    findings.add(name->place,
                 fmt::format("{}: only an experiment file may name another file: write the keys of {} into "
                             "this file",
                             kBaseKey, shown(*name)));
}

void Document::add_base(Findings& findings) {
  const std::optional<Value> name = take_base(root_);
  if (!name) return;
  if (!name->is_scalar() || name->text.empty())
    return findings.add(
        name->place,
        fmt::format("{}: got {}, expected the path of a file, relative to this file's folder", kBaseKey, shown(*name)));
  const std::string path = (std::filesystem::path(source_).parent_path() / name->text).string();
  const std::optional<std::string> text = read_base(path, name->place, findings);
  if (!text) return;
  Document base = from_text(*text, path, findings);
  if (const std::optional<Value> second = take_base(base.root_))
    findings.add(second->place,
                 fmt::format("{}: a file that is a base has none itself: copy the keys of {} to this file", kBaseKey,
                             shown(*second)));
  merge(base.root_, std::move(root_));
  root_ = std::move(base.root_);
}

Document Document::from_text(std::string_view text, const std::string& source, Findings& findings) {
  std::optional<Value> root = parse_file(text, source, findings);
  if (!root) return {source, empty_map(source), Wholeness::kOverridesOnly};
  return {source, std::move(*root), Wholeness::kWhole};
}

Document Document::with_root(Value root) const {
  Document document = *this;
  document.root_ = std::move(root);
  return document;
}

void Document::apply_override(std::string_view assignment, Findings& findings) {
  constexpr size_t kMaxShown = 200;
  const int argument = ++num_overrides_;
  const Place place{.source = "argument " + in_quotes(assignment, kMaxShown), .argument = argument};
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos)
    return findings.add(place, "no '='; expected key=value, such as training.epochs=3");
  if (!is_valid_utf8(assignment) || assignment.find('\0') != std::string_view::npos)
    return findings.add(place, "not valid UTF-8 text");
  const std::string_view key = trim(assignment.substr(0, equals));
  if (const std::string complaint = complaint_about_key(key); !complaint.empty()) return findings.add(place, complaint);
  if (key == kBaseKey) return findings.add(place, fmt::format("{} can only be written in a file", kBaseKey));
  std::optional<Value> value = parse_override_value(trim(assignment.substr(equals + 1)), place, findings);
  if (!value) return;
  assign(root_, key, place, std::move(*value), findings);
  overrides_.push_back({std::string(key), argument});
}

std::map<std::string, Place> places_of_keys(const Document& document) {
  std::map<std::string, Place> places;
  collect_places(document.root(), "", places);
  return places;
}

std::string with_place(const std::string& message, const std::map<std::string, Place>& places) {
  const auto found = places.find(message.substr(0, message.find(':')));
  return found == places.end() ? message : fmt::format("{}: {}", to_string(found->second), message);
}

void assign(Value& root, std::string_view dotted_key, const Place& key_place, Value value, Findings& findings) {
  Value* target = &root;
  std::string path;
  for (const std::string& part : split(dotted_key, '.')) {
    if (target->is_null()) target->kind = Value::Kind::kMap;
    if (!target->is_map()) return findings.add(key_place, blocked_by(*target, path, dotted_key));
    path += path.empty() ? part : "." + part;
    Member* member = find_member(*target, part);
    if (!member) {
      Value nothing;
      nothing.place = key_place;
      target->members.push_back({part, key_place, std::move(nothing)});
      member = &target->members.back();
    }
    target = &member->value;
    if (path == dotted_key) member->key_place = key_place;
  }
  *target = std::move(value);
}

}  // namespace rnnlab::config
