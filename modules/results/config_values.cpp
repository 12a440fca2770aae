#include "results/config_values.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab {
namespace {

void collect(const config::Value& map, const std::string& prefix, std::map<std::string, std::string>& values) {
  for (const config::Member& member : map.members) {
    const std::string key = prefix + member.key;
    if (member.value.is_map())
      collect(member.value, key + ".", values);
    else if (!member.value.is_null() && !(member.value.is_sequence() && member.value.items.empty()))
      values[key] = to_flow(member.value);
  }
}

}  // namespace

std::map<std::string, std::string> config_values(const std::filesystem::path& file) {
  config::Findings findings;
  const auto document = config::Document::from_file(file.string(), findings);
  if (!findings.empty()) throw UserError(ExitCode::kData, join(findings.lines(), "\n"));
  return config_values(document);
}

std::map<std::string, std::string> config_values(const config::Document& document) {
  std::map<std::string, std::string> values;
  collect(document.root(), "", values);
  return values;
}

std::string setting_without_folders(const std::string& value) {
  const bool is_list = value.starts_with('[') || value.starts_with('{');
  if (is_list) return without_folders(value);  // "m/s" in it is a column, no path
  const bool is_quoted = value.size() > 1 && value.front() == '"' && value.back() == '"';
  const std::string path = is_quoted ? value.substr(1, value.size() - 2) : value;
  if (path.find('/') == std::string::npos || path == "/") return value;
  return is_quoted ? fmt::format("\"{}\"", last_name(path)) : last_name(path);
}

std::string value_or_absent(const std::map<std::string, std::string>& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? "absent" : found->second;
}

}  // namespace rnnlab
