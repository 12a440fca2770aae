#include "results/csv_line.h"

#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

bool is_number(const std::string& text) { return parse_double(text) || text == "-inf" || text == "-nan"; }

bool begins_formula(const std::string& text) {
  constexpr std::string_view kBeginnings = "=+-@\t\r";
  return !text.empty() && kBeginnings.find(text[0]) != std::string_view::npos && !is_number(text);
}

std::string csv_field(const std::string& original, Formulas formulas) {
  const bool is_escaped = formulas == Formulas::kEscaped && begins_formula(original);
  const std::string text = is_escaped ? "'" + original : original;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
  return field + "\"";
}

}  // namespace

std::string csv_line(const std::vector<std::string>& fields, Formulas formulas) {
  std::vector<std::string> cells;
  for (const std::string& field : fields) cells.push_back(csv_field(field, formulas));
  return join(cells, ",") + "\n";
}

}  // namespace rnnlab
