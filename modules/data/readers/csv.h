// CSV (RFC 4180) as a table of text cells: quotes, doubled quotes, line breaks in quotes, LF, CRLF or CR, a byte order
// mark. Strict: a row of another length, a quote out of place, a NUL or invalid UTF-8 is an error with its line. Blank
// lines are passed over. Columns with types are made of it by csv_columns.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab {

enum class CsvHeader { kPresent, kAbsent };

struct CsvOptions {
  char delimiter = ',';  // any ASCII character but a quote, CR or LF
  CsvHeader header = CsvHeader::kPresent;
};

// At least one row and one column. Takes the file's size and four bytes a cell.
class Table {
 public:
  int64_t num_rows() const { return static_cast<int64_t>(row_lines_.size()); }
  int64_t num_columns() const { return static_cast<int64_t>(column_names_.size()); }

  // From the header, spaces at the ends removed; "column1" ... where there is no header or the name is empty.
  const std::vector<std::string>& column_names() const { return column_names_; }

  // UserError kData where no column is called so, with the names that there are.
  int64_t column_index(std::string_view name) const;

  // Without its quotes. Valid while the table lives.
  std::string_view cell(int64_t row, int64_t column) const;

  // The line, from 1, on which the cell begins.
  int64_t line(int64_t row, int64_t column) const;

  const std::string& path() const { return path_; }
  const CsvOptions& options() const { return options_; }

 private:
  friend class CsvParser;

  std::string path_;
  CsvOptions options_;
  std::vector<std::string> column_names_;
  std::string text_;                 // the cells one after the other, the header's before them
  std::vector<uint32_t> cell_ends_;  // ends of the cells in text_; the first entry is the begin of the first cell
  std::vector<uint32_t> row_lines_;
};

// Plain or gzip, less than 4 GiB. UserError kData.
Table read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

// The same for text in memory; `name` stands for the path in messages.
Table parse_csv(std::string text, const std::string& name, const CsvOptions& options = {});

}  // namespace rnnlab
