#include "results/csv_line.h"

#include "base/text.h"

namespace rnnlab {
namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
  return field + "\"";
}

}  // namespace

std::string csv_line(const std::vector<std::string>& fields) {
  std::vector<std::string> cells;
  for (const std::string& field : fields) cells.push_back(csv_field(field));
  return join(cells, ",") + "\n";
}

}  // namespace rnnlab
