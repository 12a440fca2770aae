#include "system/table.h"

#include <algorithm>

#include "base/error.h"
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

std::string padded(const std::string& cell, size_t width, Align align) {
  const size_t taken = display_width(cell);
  const std::string space(width > taken ? width - taken : 0, ' ');
  return align == Align::kRight ? space + cell : cell + space;
}

void TextTable::add_column(std::string heading, Align align) { columns_.push_back({std::move(heading), align}); }

void TextTable::add_row(std::vector<std::string> cells) {
  RNNLAB_INVARIANT(cells.size() == columns_.size(), "a row needs a cell for each column");
  rows_.push_back(std::move(cells));
}

namespace {

// A line end in a cell would begin a new row.
std::vector<std::string> on_one_line_each(const std::vector<std::string>& cells) {
  std::vector<std::string> shown;
  for (const std::string& cell : cells) shown.push_back(on_one_line(cell));
  return shown;
}

}  // namespace

std::vector<size_t> TextTable::widths() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t& width = widths.emplace_back(display_width(on_one_line(columns_[i].heading)));
    for (const auto& row : rows_) width = std::max(width, display_width(on_one_line(row[i])));
  }
  return widths;
}

std::string TextTable::line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += "  ";
    line += padded(cells[i], widths[i], columns_[i].align);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string TextTable::text() const {
  const std::vector<size_t> all_widths = widths();
  std::vector<std::string> headings, rules;
  for (size_t i = 0; i < columns_.size(); ++i) {
    headings.push_back(on_one_line(columns_[i].heading));
    rules.emplace_back(all_widths[i], '-');
  }
  std::string text = line(headings, all_widths) + line(rules, all_widths);
  for (const auto& row : rows_) text += line(on_one_line_each(row), all_widths);
  return text;
}

}  // namespace rnnlab
