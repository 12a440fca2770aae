#include "config/schema.h"

#include <algorithm>

#include "base/text.h"

namespace rnnlab::config {

const Entry* StructSpec::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

const Entry* StructSpec::find_path(std::string_view dotted_key) const {
  const size_t dot = dotted_key.find('.');
  const Entry* entry = find(dotted_key.substr(0, dot));
  if (!entry || dot == std::string_view::npos) return entry;
  return entry->group() ? entry->group()->spec->find_path(dotted_key.substr(dot + 1)) : nullptr;
}

bool StructSpec::may_change(std::string_view dotted_key, Change when) const {
  const size_t dot = dotted_key.find('.');
  const Entry* entry = find(dotted_key.substr(0, dot));
  if (entry == nullptr) return false;
  if (entry->changes.contains(when)) return true;
  if (dot == std::string_view::npos || entry->group() == nullptr) return false;
  return entry->group()->spec->may_change(dotted_key.substr(dot + 1), when);
}

std::vector<std::string> StructSpec::changeable_keys(Change when) const {
  std::vector<std::string> keys;
  for (const Entry& entry : entries) {
    const bool is_group = entry.group() != nullptr;
    if (entry.changes.contains(when))
      keys.push_back(is_group ? entry.key + ".*" : entry.key);
    else if (is_group)
      for (const std::string& key : entry.group()->spec->changeable_keys(when)) keys.push_back(entry.key + "." + key);
  }
  return keys;
}

std::vector<std::string> StructSpec::keys() const {
  std::vector<std::string> keys;
  for (const Entry& entry : entries) keys.push_back(entry.key);
  return keys;
}

}  // namespace rnnlab::config
