#include "config/unknown_key.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/repeats.h"
#include "config/sweep.h"

namespace rnnlab::config {

namespace {

void collect_dotted_keys(const StructSpec& spec, const std::string& prefix, std::vector<std::string>& keys) {
  for (const Entry& entry : spec.entries) {
    keys.push_back(prefix + entry.key);
    if (entry.group()) collect_dotted_keys(*entry.group()->spec, prefix + entry.key + ".", keys);
  }
}

// The first key elsewhere in the tree that ends in `key`, or "".
std::string same_name_elsewhere(const StructSpec& root, const std::string& key) {
  std::vector<std::string> keys;
  collect_dotted_keys(root, "", keys);
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const std::string& k) { return k.ends_with("." + key) || k == key; });
  return found == keys.end() ? "" : *found;
}

std::string nested_form(const std::string& dotted_key) {
  std::vector<std::string> parts = split(dotted_key, '.');
  return join(parts, ": {") + ": ..." + std::string(parts.size() - 1, '}');
}

std::vector<std::string> keys_of_group(const StructSpec& group, const std::string& prefix) {
  std::vector<std::string> keys = group.keys();
  if (prefix.empty() && group.sweep == StructSpec::Sweep::kTaken) {
    keys.emplace_back(kSweepKey);
    keys.emplace_back(kRepeatsKey);
  }
  return keys;
}

}  // namespace

UnknownKey explain_unknown_key(const StructSpec& root, const StructSpec& group, const std::string& prefix,
                               const std::string& key, Listing listing) {
  const std::string where = prefix.empty() ? "" : " in " + prefix.substr(0, prefix.size() - 1);
  const std::string complaint = fmt::format("unknown key {}{}", in_quotes(key), where);
  if (key.find('.') != std::string::npos && group.find_path(key))
    return {fmt::format("{} (write it nested: {})", complaint, nested_form(key)), prefix + key};
  const std::vector<std::string> keys = keys_of_group(group, prefix);
  if (const std::string meant = nearest(key, keys); !meant.empty())
    return {fmt::format("{} (did you mean '{}'?)", complaint, meant), prefix + meant};
  if (const std::string meant = same_name_elsewhere(root, key); !meant.empty())
    return {fmt::format("{} (did you mean '{}'?)", complaint, meant), meant};
  if (listing == Listing::kNone) return {complaint, ""};
  return {fmt::format("{} (keys here: {})", complaint, join(keys, ", ")), "", true};
}

}  // namespace rnnlab::config
