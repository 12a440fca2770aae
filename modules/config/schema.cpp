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

std::vector<std::string> StructSpec::keys() const {
  std::vector<std::string> keys;
  for (const Entry& entry : entries) keys.push_back(entry.key);
  return keys;
}

}  // namespace rnnlab::config
