// SPDX-License-Identifier: Apache-2.0
// CSV (RFC 4180) as a table of text cells, and typed columns of this table. The reader accepts quotes, doubled quotes,
// line breaks in quotes, LF, CRLF or CR, and a byte order mark. It is strict: a row of a different length, a misplaced
// quote, a NUL or invalid UTF-8 is an error with its line. Blank lines are skipped, but between the rows of a table of
// one column they are errors, because each may be a missing value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/readers/byte_stream.h"

namespace rnnlab {

enum class CsvHeader { kPresent, kAbsent };

struct CsvOptions {
  char delimiter = ',';  // any ASCII character except a quote, CR and LF
  CsvHeader header = CsvHeader::kPresent;
  char decimal = '.';  // of numbers: a point or a comma
  // What means a missing value, as it is written, besides an empty cell; nullopt: usual_missing_words(), in any case.
  std::optional<std::vector<std::string>> missing_words = std::nullopt;
  uint32_t first_line = 0;  // of the rows after the header, for messages, if they are not those of a file; 0: they are
};

// Returns the words that mean a missing value unless a table has words of its own: "NA", "?" and others.
std::span<const std::string_view> usual_missing_words();

// A table has at least one row and one column. Its memory is the size of the file, four bytes for each cell, and eight
// for each row.
class CsvTable {
 public:
  int64_t num_rows() const { return static_cast<int64_t>(row_lines_.size()); }
  int64_t num_columns() const { return static_cast<int64_t>(column_names_.size()); }

  // Returns the names in the header, trimmed; "column1" ... if there is no header or a name is empty.
  const std::vector<std::string>& column_names() const { return column_names_; }
  const std::string& column_name(int64_t column) const { return column_names_[static_cast<size_t>(column)]; }

  // Throws UserError kData with the existing names if no column has this name.
  int64_t column_index(std::string_view name) const;

  // Returns the cell without its quotes. The view is valid as long as the table.
  std::string_view cell(int64_t row, int64_t column) const;

  // Returns the cell without the spaces around it.
  std::string_view value(int64_t row, int64_t column) const;

  // Returns whether the value is missing: the cell is empty, or it is a word that means a missing value.
  bool is_missing(int64_t row, int64_t column) const;

  // Returns the line, from 1, on which the cell begins.
  int64_t line(int64_t row, int64_t column) const;

  // Throws UserError kData with the file, the line and the column of the cell before the message.
  [[noreturn]] void fail_at(int64_t row, int64_t column, const std::string& message) const;

  const std::string& path() const { return path_; }
  const CsvOptions& options() const { return options_; }

 private:
  friend class CsvParser;

  std::string path_;
  CsvOptions options_;
  std::vector<std::string> column_names_;
  std::unordered_map<std::string, int64_t> places_;  // of the columns, by their names
  UnfilledVector<char> text_;                        // one byte lies between a cell and the next one of its row
  UnfilledVector<uint32_t> cell_ends_;               // in text_
  UnfilledVector<uint32_t> row_begins_;
  UnfilledVector<uint32_t> row_lines_;
};

// Reads a plain or gzip file of less than 4 GiB. Throws UserError kData if the file cannot be read or is not valid CSV.
CsvTable read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

// Parses text in memory by the same rules as read_csv; `name` replaces the path in messages. The second function
// parses it in so many pieces at the same time, where the first has as many as its size is worth. Tables and messages
// are the same.
CsvTable parse_csv(std::string_view text, const std::string& name, const CsvOptions& options = {});
CsvTable parse_csv_in_pieces(std::string_view text, const std::string& name, const CsvOptions& options,
                             int64_t num_pieces);

// The functions below make typed columns of a CSV table: numbers with a policy for missing values, and classes. Spaces
// around a cell are ignored. A missing value is an empty cell or one of CsvOptions::missing_words.

enum class MissingPolicy {
  kError,     // refuse the file
  kDrop,      // drop every row that complete_rows() does not name
  kPrevious,  // the value of the previous row of the series
  kMean,      // the mean of the column in the training part
  kZero,
};

// These functions take a cell without the spaces around it.
bool is_missing(std::string_view cell, const CsvOptions& options = {});
bool has_decimal_comma(std::string_view cell);  // a number such as "1,5", which some programs write for one and a half

// Returns whether the cell is neither missing nor a number in any notation nor true or false.
bool is_text(std::string_view cell, const CsvOptions& options = {});

// Returns the number of a cell of a table with these options: with a decimal comma, 1,5 is a number and 1.5 is not.
std::optional<double> number_of(std::string_view cell, const CsvOptions& options);

struct NumericColumn {
  std::string name;
  std::vector<double> values;  // finite, or NaN for a value that is still missing
  int64_t num_missing = 0;     // before a caller filled any
  bool is_boolean = false;     // whether the cells are true and false, which are 1 and 0
};

// Missing values are NaN: only the caller knows the series and the training part, by which a policy fills them. Throws
// UserError kData with the cell's line if the column is missing, a cell is not a finite number, or a value is missing
// and the policy is kError.
NumericColumn numeric_column(const CsvTable& table, std::string_view name, MissingPolicy policy);

// Returns the columns of these names, read together, which takes a fraction of the time of one after another.
std::vector<NumericColumn> numeric_columns(const CsvTable& table, std::span<const std::string> names,
                                           MissingPolicy policy);

// Refuses a missing value of a column of numbers. The hint ends the message.
[[noreturn]] void fail_missing_number(const CsvTable& table, int64_t row, int64_t column, std::string_view hint = "");

// Returns the rows that have a value in every column, in order. All columns have equal lengths.
std::vector<int64_t> complete_rows(std::span<const NumericColumn> columns);

struct ClassColumn {
  std::vector<int64_t> classes;     // indices into the labels
  std::vector<std::string> labels;  // sorted: as numbers if all are integers, else by their bytes
  std::string note;                 // names the spellings of a label that has several; else ""
};

// Whether a target may be missing, of any source of data. It is then NaN, or the class -1.
enum class MissingTargets { kRefused, kAllowed };

// Throws UserError kData if the column is missing, if it has no label, or for a missing label that is refused. All
// spellings of a value, such as 3, +3 and 3.0, are one label (spellings.h).
ClassColumn class_column(const CsvTable& table, std::string_view name,
                         MissingTargets missing = MissingTargets::kRefused);

// Returns the classes of another part of the data, which must be among `labels`. Throws UserError kData with the line
// of the cell if a class is not.
std::vector<int64_t> class_column_as(const CsvTable& table, std::string_view name,
                                     const std::vector<std::string>& labels,
                                     MissingTargets missing = MissingTargets::kRefused);

}  // namespace rnnlab
