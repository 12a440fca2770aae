#include "results/config_values.h"

#include <vector>

#include "base/text.h"

namespace rnnlab {
namespace {

// Without a comment: '#' after a space, outside quotes.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (c == '#' && (i == 0 || line[i - 1] == ' ')) return line.substr(0, i);
  }
  return line;
}

struct OpenKey {
  size_t indent;
  std::string path;
};

}  // namespace

std::map<std::string, std::string> config_values(std::string_view yaml) {
  std::map<std::string, std::string> values;
  std::vector<OpenKey> open;
  for (const std::string& raw : split(yaml, '\n')) {
    const std::string_view line = without_comment(raw);
    const std::string_view content = trim(line);
    const size_t colon = content.find(':');
    if (content.empty() || colon == std::string_view::npos) continue;
    const size_t indent = line.find_first_not_of(' ');
    while (!open.empty() && open.back().indent >= indent) open.pop_back();
    const std::string key(content.substr(0, colon));
    const std::string path = open.empty() ? key : open.back().path + "." + key;
    const std::string_view value = trim(content.substr(colon + 1));
    if (value.empty()) {
      open.push_back({indent, path});
    } else {
      values[path] = value;
    }
  }
  return values;
}

}  // namespace rnnlab
