// Makes text tables for a terminal, and lines of CSV (RFC 4180).
#pragma once

#include <string>
#include <vector>

namespace rnnlab {

// Returns fields as a line of CSV (RFC 4180, with a plain line end): fields with a comma, a quote or a line end are
// quoted. The tables are often opened in spreadsheets, so a text that begins with = + - @, a tab or a carriage return
// gets a leading ', because a spreadsheet would run it as a formula; numbers stay unchanged. Predictions are data for
// programs, so their texts stay unchanged (inference/prediction_file.h).
enum class Formulas { kEscaped, kUnchanged };

std::string csv_line(const std::vector<std::string>& fields, Formulas formulas = Formulas::kEscaped);

// Makes a text table with aligned columns: widths count code points of UTF-8, numbers are aligned right and words left.
enum class Align { kLeft, kRight };

struct TableColumn {
  std::string heading;
  Align align;
};

class TextTable {
 public:
  void add_column(std::string heading, Align align);

  // The row must have one cell for each column.
  void add_row(std::vector<std::string> cells);

  const std::vector<TableColumn>& columns() const { return columns_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }

  // Returns the table with two spaces between columns, a rule under the headings, no trailing spaces and a line end
  // after each line. Control characters of a cell are shown as on_one_line shows them; rows() has the cells unchanged.
  std::string text() const;

 private:
  std::string line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const;
  std::vector<size_t> widths() const;

  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns `cell` padded with spaces to `width` columns; a longer cell is unchanged.
std::string padded(const std::string& cell, size_t width, Align align);

}  // namespace rnnlab
