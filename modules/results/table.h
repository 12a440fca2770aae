// Rows of cells, and the text of them that lines up: UTF-8 counted by code points, numbers to the right and words to
// the left.
#pragma once

#include <string>
#include <vector>

namespace rnnlab {

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
