// Text tables for a terminal, and lines of CSV (RFC 4180).
#pragma once

#include <string>
#include <vector>

namespace rnnlab {

// Fields as a line of CSV (RFC 4180, with a plain line end): quoted if they hold a comma, a quote or a line end.
// The tables written with it are opened in spreadsheets. A text that begins with = + - @, a tab or a carriage return
// gets a leading ', because a spreadsheet would run it as a formula; numbers stay as they are. Predictions are data for
// programs, so their texts stay unchanged (inference/prediction_file.h).

enum class Formulas { kEscaped, kUnchanged };

std::string csv_line(const std::vector<std::string>& fields, Formulas formulas = Formulas::kEscaped);

// Rows of cells, and the text of them that lines up: UTF-8 counted by code points, numbers to the right and words to
// the left.

enum class Align { kLeft, kRight };

struct TableColumn {
  std::string heading;
  Align align;
};

class TextTable {
 public:
  void add_column(std::string heading, Align align);

  // One cell for each column.
  void add_row(std::vector<std::string> cells);

  const std::vector<TableColumn>& columns() const { return columns_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }

  // Columns two spaces apart, a rule under the headings, no trailing spaces, a line end after each line. Control
  // characters of a cell are shown as on_one_line shows them; rows() has the cells unchanged.
  std::string text() const;

 private:
  std::string line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const;
  std::vector<size_t> widths() const;

  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// `cell` filled up with spaces to `width` columns; as it is when longer.
std::string padded(const std::string& cell, size_t width, Align align);

}  // namespace rnnlab
