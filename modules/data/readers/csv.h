// CSV (RFC 4180) as a table of text cells: quotes, doubled quotes, line breaks in quotes, LF, CRLF or CR, a byte order
// mark. Strict: a row of another length, a quote out of place, a NUL or invalid UTF-8 is an error with its line. Blank
// lines are passed over. Columns with types are made of it by csv_columns.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
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

// Typed columns of a CSV table: numbers with a policy for missing values, and classes. Spaces around a cell do not
// count. A missing value is an empty cell or one of NA, NaN, null and ? in any case of letters.

enum class MissingPolicy {
  kError,     // refuse the file
  kDrop,      // leave NaN; the caller drops every row that complete_rows() does not name
  kPrevious,  // the value of the row before
  kMean,      // the mean of the column
  kZero,
};

// Of a cell without the spaces around it.
bool is_missing(std::string_view cell);
bool has_decimal_comma(std::string_view cell);  // "1,5", which some programs write for one and a half
bool is_text(std::string_view cell);            // neither missing nor a number, however it is written

struct NumericColumn {
  std::string name;
  std::vector<double> values;  // finite; NaN only where the policy is kDrop
  int64_t num_missing = 0;     // before the policy was applied
};

// UserError kData with the cell's line: no such column, a cell that is no finite number, a missing value that the
// policy cannot fill. kMean takes the mean over the rows `fit_rows` (all rows where it is empty), so that it can be
// fitted on the training part alone.
NumericColumn numeric_column(const Table& table, std::string_view name, MissingPolicy policy,
                             std::span<const int64_t> fit_rows = {});

// The rows that have a value in every column, in order. All columns are equally long.
std::vector<int64_t> complete_rows(std::span<const NumericColumn> columns);

struct ClassColumn {
  std::vector<int64_t> classes;     // indices into the labels
  std::vector<std::string> labels;  // sorted: as numbers where all are integers, else by their bytes
};

// UserError kData: no such column, a missing label. Integers are one label however they are written (+3 and 3).
ClassColumn class_column(const Table& table, std::string_view name);

enum class MissingLabels { kRefused, kUnknown };  // kUnknown: class -1

// The same for another part of the data, whose classes must be among `labels`. UserError kData names the cell's line.
std::vector<int64_t> class_column_as(const Table& table, std::string_view name, const std::vector<std::string>& labels,
                                     MissingLabels missing = MissingLabels::kRefused);

}  // namespace rnnlab
